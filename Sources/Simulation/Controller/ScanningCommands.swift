import BluetoothWire
import Essentials

// Legacy and extended scanning.

extension SimulatedController {
  static func addScanningCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, command: LESetScanParameters) throws(Refusal) in
      guard !controller.settings.scan.isEnabled else { throw Refusal(.commandDisallowed) }
      guard command.timing.isValidForLegacy else { throw Refusal(.invalidParameters) }
      controller.settings.scan.le1M = ExtendedScanParameters(
        type: command.type, timing: command.timing)
      controller.settings.scan.leCoded = nil
      controller.settings.scan.ownAddressType = command.ownAddressType
      controller.settings.scan.filterPolicy = command.filterPolicy
    }
    table.acknowledge { (controller, command: LESetScanEnable) throws(Refusal) in
      controller.settings.scan.isExtended = false
      try controller.setScan(
        LESetExtendedScanEnable(
          isEnabled: command.isEnabled, duplicates: command.filtersDuplicates ? .on : .off))
    }
    table.acknowledge { (controller, command: LESetExtendedScanParameters) throws(Refusal) in
      guard !controller.settings.scan.isEnabled else { throw Refusal(.commandDisallowed) }
      let given = [command.le1M, command.leCoded].compactMap { $0 }
      guard !given.isEmpty, given.allSatisfy({ $0.timing.isValid }) else {
        throw Refusal(.invalidParameters)
      }
      guard command.leCoded == nil || controller.capabilities.hasCoded else {
        throw Refusal(.unsupportedFeature)
      }
      controller.settings.scan.le1M = command.le1M
      controller.settings.scan.leCoded = command.leCoded
      controller.settings.scan.ownAddressType = command.ownAddressType
      controller.settings.scan.filterPolicy = command.filterPolicy
    }
    table.acknowledge { (controller, command: LESetExtendedScanEnable) throws(Refusal) in
      controller.settings.scan.isExtended = true
      try controller.setScan(command)
    }
  }

  private func setScan(_ command: LESetExtendedScanEnable) throws(Refusal) {
    guard command.isEnabled else {
      settings.scan.isEnabled = false
      return world.listeningDidChange(self)
    }
    let period = Int64(command.periodUnits1280ms) * 1_280_000_000
    let duration = Int64(command.durationUnits10ms) * 10_000_000
    guard period == 0 || duration == 0 || duration < period,
      command.duplicates != .resetEachPeriod || period > 0
    else { throw Refusal(.invalidParameters) }
    _ = try ownAddress(
      settings.scan.ownAddressType, random: settings.randomAddress, towards: nil)
    var scan = settings.scan
    // Enabling again changes the duplicate filter and forgets what it knew (§7.8.11).
    duplicates = DuplicateMemory()
    scan.duplicates = command.duplicates
    scan.periodNanoseconds = duration == 0 ? 0 : period
    scan.durationNanoseconds = duration
    scan.startNanoseconds = world.now.nanoseconds
    scan.isEnabled = true
    scan.enableCount = world.nextNumber()
    let phase = generator.next()
    let start = world.now.nanoseconds
    scan.train1M = scan.le1M.map { ScanTrain($0.timing, start: start, firstChannel: phase) }
    scan.trainCoded = scan.leCoded.map { ScanTrain($0.timing, start: start, firstChannel: phase) }
    settings.scan = scan
    world.listeningDidChange(self)
    if duration > 0, period == 0 { endScan(scan.enableCount, after: duration) }
  }

  private func endScan(_ enabling: UInt64, after nanoseconds: Int64) {
    world.schedule(at: world.now + .nanoseconds(nanoseconds)) { [weak self] in
      guard let self, self.settings.scan.isEnabled, self.settings.scan.enableCount == enabling
      else { return }
      self.settings.scan.isEnabled = false
      self.world.listeningDidChange(self)
      self.send(LEScanTimeout())
    }
  }
}

extension ScanTiming {
  var isValid: Bool { windowUnits625us >= 4 && windowUnits625us <= intervalUnits625us }
  var isValidForLegacy: Bool { isValid && intervalUnits625us <= 0x4000 }
}

/// The advertisers that a scanner reported lately; the oldest are forgotten first.
struct DuplicateMemory {
  private var known: Set<UInt64> = []
  private var order: [UInt64] = []
  private var oldest = 0
  /// The scan period in which these were reported.
  var period: Int64 = 0

  /// Whether it is new; remembers it.
  mutating func insert(_ key: UInt64) -> Bool {
    guard known.insert(key).inserted else { return false }
    if order.count < Limits.duplicateFilterMax {
      order.append(key)
    } else {
      known.remove(order[oldest])
      order[oldest] = key
      oldest = (oldest + 1) % order.count
    }
    return true
  }
}
