import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import PeripheralFiles

/// Records a device over a link of its own.
final class DeviceRecording: Sendable {
  /// The parts of a device to record.
  struct Plan: Sendable {
    /// How long notifications are followed.
    var duration: Duration
    /// How long advertisements are listened to.
    var listening: Duration
    var writes: [PlannedWrite]
  }

  private struct State: Sendable {
    var recorder = PeripheralRecorder()
    var hasServices = false
    /// Advertisements from before the device was identified.
    var heard: [DeviceAddress: Sighting] = [:]
    var heardCount = 0
    var address: DeviceAddress?
    /// The protection of each link of the host.
    var protections: [DeviceAddress: PeripheralFile.Protection] = [:]

    private var protection: PeripheralFile.Protection {
      address.flatMap { protections[$0] } ?? .none
    }

    /// The device allowed an access over the link as it is now.
    mutating func allowed(
      _ access: PeripheralFile.Access, to index: PeripheralFile.CharacteristicIndex
    ) {
      recorder.allowed(access, to: index, over: protection)
    }

    /// Something was written over the link as it is now; a device may ignore what it does not answer.
    mutating func wrote(
      to index: PeripheralFile.CharacteristicIndex, isAnswered: Bool, _ refusal: ATTErrorCode?
    ) {
      if let refusal { return recorder.refusedWrite(to: index, refusal, over: protection) }
      if isAnswered { return allowed(.write, to: index) }
      recorder.wroteUnanswered(to: index, over: protection)
    }
  }

  /// Reports of one advertiser.
  private struct Sighting: Sendable {
    var reports: [AdvertisingReport] = []
    var droppedCount = 0
  }

  /// Reports that are kept until it is clear which device is meant, of one advertiser and of all: one
  /// that is loud keeps no other from being recorded.
  private static let reportsOfOneMax = 500
  private static let reportCountMax = 50_000
  /// Services that every device has; hosts serve them by themselves.
  private static let systemServices: Set<BluetoothUUID> = [0x1800, 0x1801]

  private let name: DeviceName
  private let plan: Plan
  private let session: Session
  private let clock = MonotonicClock()
  private let state = Guarded(State())

  init(_ name: DeviceName, _ plan: Plan, _ session: Session) {
    self.name = name
    self.plan = plan
    self.session = session
  }

  /// The recording so far; nil before the services were discovered.
  var recorded: PeripheralRecording? {
    let state = state.value
    return state.hasServices ? state.recorder.finished(at: clock.now) : nil
  }

  /// Records until all is done, the device goes away or the task is cancelled.
  func run() async throws {
    // Advertising data byte for byte, which Core Bluetooth does not give.
    let scanner = session.host.openSession { [self] event in
      switch event {
      case .discovered(let report): heard(report)
      // It comes before the answers to what was asked for over the encrypted link.
      case .linkOpened(let link), .linkUpdated(let link):
        state.update { $0.protections[link.peer] = .init(link.encryption) }
      case .linkClosed(let peer, _): state.update { $0.protections[peer] = nil }
      default: break
      }
    }
    defer { scanner.close() }
    var options = ScanOptions()
    options.allowsDuplicates = true
    scanner.send(.startScan(options))
    let (plan, session) = (plan, session)
    try await Device.with(name, session) { [self] device in
      guard let address = device.sighting.address else {
        throw CommandFailure(.notFound, "\(device.title) has no address")
      }
      scanner.send(.stopScan)
      chose(address, device)
      let characteristics = try await discover(device)
      state.update { $0.hasServices = true }
      try await readAll(characteristics, device)
      try await follow(characteristics, device, plan)
    } afterFinding: { sighting in
      session.output.progress("Listening to \(sighting.name ?? sighting.shortID) …")
      try await Task.sleep(for: plan.listening)
    }
  }

  // MARK: Advertising

  private func heard(_ report: AdvertisingReport) {
    state.update { state in
      guard state.address == nil else { return }
      let isKnown = state.heard[report.address] != nil
      guard state.heardCount < Self.reportCountMax,
        state.heard[report.address]?.reports.count ?? 0 < Self.reportsOfOneMax
      else {
        if isKnown { state.heard[report.address]?.droppedCount += 1 }
        return
      }
      state.heardCount += 1
      state.heard[report.address, default: Sighting()].reports.append(report)
    }
  }

  private func chose(_ address: DeviceAddress, _ device: Device) {
    state.update { state in
      state.address = address
      state.recorder.file.address = address.isIdentityAddress ? address : nil
      state.recorder.file.name = device.sighting.name ?? device.connection.name
      let heard = state.heard[address] ?? Sighting()
      if heard.reports.isEmpty, state.heardCount >= Self.reportCountMax {
        state.recorder.countDropped(1)
      }
      state.recorder.countDropped(heard.droppedCount)
      for report in heard.reports {
        state.recorder.heard(
          data: Array(report.data), scanResponse: Array(report.scanResponse),
          isConnectable: report.isConnectable, rssi: report.rssi == 127 ? nil : Int(report.rssi),
          at: report.heardAt)
      }
      state.heard = [:]
    }
  }

  // MARK: The database

  private typealias Found = (index: PeripheralFile.CharacteristicIndex, it: CBCharacteristic)

  private func discover(_ device: Device) async throws -> [Found] {
    var services = try await device.services(withDescriptors: true)
    services += try await included(in: services, device)
    try await readSystemService(services, device)
    services.removeAll { Self.systemServices.contains(BluetoothUUID($0.uuid)) }
    var droppedCount = max(0, services.count - PeripheralFile.Limits.serviceCount)
    services = Array(services.prefix(PeripheralFile.Limits.serviceCount))
    var found: [Found] = []
    var described: [PeripheralFile.Service] = []
    for (number, service) in services.enumerated() {
      var description = PeripheralFile.Service(uuid: BluetoothUUID(service.uuid))
      description.isPrimary = service.isPrimary
      description.includedServices = (service.includedServices ?? []).compactMap { included in
        services.firstIndex { $0 === included }
      }
      let all = service.characteristics ?? []
      let characteristics = all.prefix(PeripheralFile.Limits.characteristicCount)
      droppedCount += all.count - characteristics.count
      for (place, characteristic) in characteristics.enumerated() {
        let index = PeripheralFile.CharacteristicIndex(service: number, characteristic: place)
        found.append((index, characteristic))
        description.characteristics.append(
          try await describe(characteristic, device))
      }
      described.append(description)
    }
    let (all, dropped) = (described, droppedCount)
    state.update { state in
      state.recorder.file.services = all
      state.recorder.countDropped(dropped)
    }
    return found
  }

  /// Services that are there to be included only, which a discovery of primary ones leaves out.
  private func included(in services: [CBService], _ device: Device) async throws -> [CBService] {
    var all = services
    var next = 0
    while next < all.count, all.count < PeripheralFile.Limits.serviceCount {
      for service in all[next].includedServices ?? [] where !all.contains(where: { $0 === service })
      {
        try await session.explaining(device.title) { () throws(BluetoothError) in
          try await device.connection.discoverIncludedServices(for: service)
          for found in try await device.connection.discoverCharacteristics(for: service) {
            try await device.connection.discoverDescriptors(for: found)
          }
        }
        all.append(service)
      }
      next += 1
    }
    return Array(all.dropFirst(services.count))
  }

  private func describe(
    _ characteristic: CBCharacteristic, _ device: Device
  ) async throws -> PeripheralFile.Characteristic {
    var description = PeripheralFile.Characteristic(
      uuid: BluetoothUUID(characteristic.uuid),
      properties: CharacteristicProperties(
        rawValue: UInt8(truncatingIfNeeded: characteristic.properties.rawValue)))
    for descriptor in characteristic.descriptors ?? [] {
      let uuid = BluetoothUUID(descriptor.uuid)
      guard uuid != 0x2902 else { continue }
      guard description.descriptors.count < PeripheralFile.Limits.descriptorCount else {
        state.update { $0.recorder.countDropped(1) }
        continue
      }
      let value = try await refusable { try await device.read(descriptor) }
      description.descriptors.append(
        PeripheralFile.Descriptor(uuid: uuid, value: (value ?? nil) ?? []))
    }
    return description
  }

  /// Name and appearance (Core 5.4, Vol 3, Part C, §12).
  private func readSystemService(_ services: [CBService], _ device: Device) async throws {
    let own = services.filter { BluetoothUUID($0.uuid) == 0x1800 }
      .flatMap { $0.characteristics ?? [] }
    for characteristic in own where characteristic.properties.contains(.read) {
      guard let value = try await refusable({ try await device.read(characteristic) }) else {
        continue
      }
      let uuid = BluetoothUUID(characteristic.uuid)
      if uuid == 0x2A00, let name = StandardValue.printable(value[...]) {
        // One that is too long is cut to what a file can have.
        state.update { $0.recorder.file.name = name }
      }
      if uuid == 0x2A01, value.count == 2, value != [0, 0] {
        state.update { $0.recorder.file.appearance = UInt16(value[0]) | UInt16(value[1]) << 8 }
      }
    }
  }

  /// Nil where the device refused.
  private func refusable<Result>(_ body: () async throws -> Result) async throws -> Result? {
    do { return try await body() } catch let failure as CommandFailure where failure.isRefusal {
      return nil
    }
  }

  // MARK: Values

  private func readAll(_ characteristics: [Found], _ device: Device) async throws {
    for (index, characteristic) in characteristics where characteristic.properties.contains(.read) {
      session.output.progress("Reading \(characteristic.uuid.uuidString) …")
      try await read(index, characteristic, device)
    }
  }

  private func read(
    _ index: PeripheralFile.CharacteristicIndex, _ characteristic: CBCharacteristic,
    _ device: Device
  ) async throws {
    let result: Swift.Result<[UInt8], ATTErrorCode>
    do throws(BluetoothError) {
      result = .success(Array(try await device.connection.read(characteristic)))
    } catch {
      guard let code = error.attributeErrorCode else {
        throw session.failure(
          error, "reading \(characteristic.uuid.uuidString)", of: device.title)
      }
      result = .failure(ATTErrorCode(rawValue: UInt8(truncatingIfNeeded: code)))
    }
    state.update { state in
      state.recorder.read(index, result)
      if case .success = result { state.allowed(.read, to: index) }
    }
  }

  private func follow(
    _ characteristics: [Found], _ device: Device, _ plan: Plan
  ) async throws {
    let start = clock.now
    state.update { $0.recorder.beginTimeline(at: start) }
    let followed = characteristics.filter { $0.it.canBeFollowed }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, characteristic) in followed {
        group.addTask { [self] in try await follow(index, characteristic, device) }
      }
      group.addTask { [self] in
        session.output.progress("Following \(device.title) …")
        if !followed.isEmpty { try await Task.sleep(for: plan.duration) }
        let end = clock.now
        state.update { $0.recorder.endTimeline(at: end) }
        for write in plan.writes { try await perform(write, characteristics, device) }
        throw Done()
      }
      group.addTask { [self] in
        let error = await device.connection.waitForDisconnection()
        throw session.failure(error, device.title)
      }
      defer { group.cancelAll() }
      do {
        while try await group.next() != nil {}
      } catch is Done {}
    }
  }

  private struct Done: Error {}

  private func follow(
    _ index: PeripheralFile.CharacteristicIndex, _ characteristic: CBCharacteristic,
    _ device: Device
  ) async throws {
    do {
      for try await value in device.connection.values(of: characteristic) {
        let now = clock.now
        state.update { state in
          state.recorder.notified(index, Array(value), at: now)
          state.allowed(.notify, to: index)
        }
      }
    } catch let error as BluetoothError {
      switch error.code {
      case .attribute:
        // Refused: what it takes is part of what the device is.
        let needsEncryption = [0x05, 0x0F].contains(error.attributeErrorCode)
        state.update { $0.recorder.file[index].notifyNeedsEncryption = needsEncryption }
      case .refused: break
      default: throw session.failure(error, device.title)
      }
    }
  }

  private func perform(
    _ write: PlannedWrite, _ characteristics: [Found], _ device: Device
  ) async throws {
    let meant = try await device.characteristic(write.name)
    guard let (index, characteristic) = characteristics.first(where: { $0.it === meant }) else {
      throw CommandFailure(.notFound, "\(write.name.text) is not recorded")
    }
    session.output.progress("Writing \(write.name.text) …")
    let now = clock.now
    let withResponse = characteristic.takesResponses
    var refusal: ATTErrorCode?
    do throws(BluetoothError) {
      try await device.connection.write(
        Data(write.bytes), to: characteristic,
        type: withResponse ? .withResponse : .withoutResponse)
    } catch {
      guard let code = error.attributeErrorCode else {
        throw session.failure(error, "writing \(write.name.text)", of: device.title)
      }
      refusal = ATTErrorCode(rawValue: UInt8(truncatingIfNeeded: code))
    }
    let outcome = refusal
    state.update { state in
      state.recorder.wrote(index, write.bytes, error: outcome, at: now)
      state.wrote(to: index, isAnswered: withResponse, outcome)
    }
    try await Task.sleep(for: PeripheralRecorder.answerTime.duration)
    if refusal == nil, characteristic.properties.contains(.read) {
      try await read(index, characteristic, device)
    }
  }
}
