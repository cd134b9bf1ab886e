import CoreBluetooth
import Foundation

/// Finds the peripheral app, does one job for a while, and prints what it came to as JSON.
final class CentralApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  enum Job: String {
    case notifications, reads, writes, reports, idle
  }

  private let job: Job
  private let nanoseconds: UInt64
  private var manager: CBCentralManager?
  private var peripheral: CBPeripheral?
  private var characteristics: [CBUUID: CBCharacteristic] = [:]
  private var count = 0
  private var start: Usage?
  /// When the last read began, and what those before it took, in nanoseconds.
  private var readStart: UInt64?
  private var readTimes: [UInt64] = []
  private var receivedBefore: UInt64?
  private var isWriting = false

  init(_ job: Job, seconds: Double, queue: DispatchQueue?) {
    self.job = job
    nanoseconds = UInt64(seconds * 1e9)
    super.init()
    manager = CBCentralManager(delegate: self, queue: queue)
  }

  // MARK: Measuring

  /// Wall-clock and processor time of this process, in nanoseconds.
  private struct Usage {
    let wall = read(CLOCK_MONOTONIC)
    let processor = read(CLOCK_PROCESS_CPUTIME_ID)

    static func read(_ clock: clockid_t) -> UInt64 {
      var time = timespec()
      clock_gettime(clock, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
  }

  /// Counts an operation. The clock is read for few of the fast ones, so that it doesn't count itself.
  private func counted(every step: Int) {
    count += 1
    guard count % step == 0 else { return }
    guard let start else {
      start = Usage()
      count = 0
      return
    }
    if isOver(start) { report(count, since: start) }
  }

  private func isOver(_ start: Usage) -> Bool { Usage().wall - start.wall >= nanoseconds }

  private func report(_ count: Int, since start: Usage) {
    let now = Usage()
    let perSecond = Double(count) * 1e9 / Double(now.wall - start.wall)
    let each = Double(now.processor - start.processor) / 1e3 / Double(count)
    let figures = "\"per_second\": \(perSecond), \"microseconds_each\": \(each)"
    say("{\(figures)\(latency)}")
    exit(0)
  }

  /// How long reads took, in microseconds, as another member of the report.
  private var latency: String {
    guard !readTimes.isEmpty else { return "" }
    let times = readTimes.sorted().map { Double($0) / 1e3 }
    let (median, late) = (times[times.count / 2], times[times.count * 99 / 100])
    return ", \"latency\": {\"median\": \(median), \"percentile_99\": \(late)}"
  }

  private func read(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    let now = Usage.read(CLOCK_MONOTONIC)
    if let readStart { readTimes.append(now - readStart) }
    readStart = now
    peripheral.readValue(for: characteristic)
  }

  // MARK: Reaching the peripheral

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    let allows = [CBCentralManagerScanOptionAllowDuplicatesKey: job == .reports]
    central.scanForPeripherals(withServices: nil, options: allows)
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    if job == .reports { return counted(every: 1_024) }
    guard self.peripheral == nil,
      advertisementData[CBAdvertisementDataLocalNameKey] as? String == Agreed.name
    else { return }
    self.peripheral = peripheral
    peripheral.delegate = self
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    fail("There was no connection: \(String(describing: error))")
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    fail("The connection ended: \(String(describing: error))")
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices([Agreed.service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? [] {
      characteristics[characteristic.uuid] = characteristic
    }
    begin(peripheral)
  }

  private func characteristic(_ uuid: CBUUID) -> CBCharacteristic {
    guard let characteristic = characteristics[uuid] else { fail("\(uuid) was not discovered.") }
    return characteristic
  }

  // MARK: The jobs

  private func begin(_ peripheral: CBPeripheral) {
    switch job {
    case .notifications, .idle:
      if job == .idle { return beIdle() }
      peripheral.setNotifyValue(true, for: characteristic(Agreed.notifying))
    case .reads: read(peripheral, characteristic(Agreed.value))
    case .writes: peripheral.readValue(for: characteristic(Agreed.received))
    case .reports: break
    }
  }

  /// Connected, and nothing happens: the figure is processor time of a second.
  private func beIdle() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 1) { [self] in
      let start = Usage()
      DispatchQueue.global().asyncAfter(
        deadline: .now() + .nanoseconds(Int(nanoseconds))
      ) { [self] in report(max(1, Int(nanoseconds / 1_000_000_000)), since: start) }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    if let error { fail("A value did not come: \(error)") }
    switch job {
    case .notifications: counted(every: 1_024)
    case .reads:
      read(peripheral, characteristic)
      counted(every: 16)
    case .writes: received(characteristic.value, peripheral)
    case .reports, .idle: break
    }
  }

  /// Handles the peripheral's count of received writes: read before the first, or after the last.
  private func received(_ value: Data?, _ peripheral: CBPeripheral) {
    let number = (value ?? Data()).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    if let receivedBefore, let start {
      return report(Int(number - receivedBefore), since: start)
    }
    receivedBefore = number
    start = Usage()
    isWriting = true
    pump(peripheral)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    if isWriting { pump(peripheral) }
  }

  private func pump(_ peripheral: CBPeripheral) {
    guard let start else { return }
    let sink = characteristic(Agreed.sink)
    while peripheral.canSendWriteWithoutResponse {
      peripheral.writeValue(Agreed.payload, for: sink, type: .withoutResponse)
      count += 1
      if count % 64 == 0, isOver(start) {
        isWriting = false
        return peripheral.readValue(for: characteristic(Agreed.received))
      }
    }
  }
}
