import ArgumentParser
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import Essentials
import Foundation
import JSONWire
import PeripheralFiles

/// Advertises.
struct Advertise: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Advertise a name and services.",
    discussion: """
      Runs until Ctrl-C or --timeout. Centrals can connect, and find only the mandatory services; \
      "ambit peripheral" serves more.

      EXAMPLES:
        ambit advertise --name "Desk lamp"
        ambit advertise --name Strap --service 180D --service battery --timeout 1m
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: "The name to advertise.")
  var name: String?

  @Option(
    help: ArgumentHelp(
      "A service to advertise, by UUID or name; may be given several times.", valueName: "service"))
  var service: [String] = []

  var hostName: String? { name }

  func validate() throws {
    if name == nil, service.isEmpty {
      throw ValidationError("Nothing to advertise: give --name, --service or both.")
    }
  }

  func run(_ session: Session) async throws {
    let services = try service.map { try CharacteristicName.service($0) }
    let role = PeripheralRole(session.host)
    try await role.ready(session)
    let events = role.events()
    try await role.advertise(name: name, services: services)
    ServingReport.started(name, services, session.output)
    try await session.untilTime {
      for await case .stateChanged(let state) in events where state != .poweredOn {
        throw role.radioFailure(state)
      }
    }
    role.manager.stopAdvertising()
  }
}

/// Serves a GATT database.
struct Peripheral: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Be a device: serve the GATT database that a file describes.",
    discussion: """
      The file is JSON; docs/peripheral-file.md describes it, Examples/peripherals has some. \
      Prints the reads, writes and subscriptions of centrals, until Ctrl-C or --timeout. "-" reads \
      standard input.

      EXAMPLES:
        ambit peripheral Examples/peripherals/battery.json
        ambit peripheral thermostat.json --check
        echo '{"name": "Hi", "services": [{"uuid": "180F", "characteristics":
          [{"uuid": "2A19", "value": {"uint8": 87}}]}]}' | ambit peripheral -
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The description, or - for standard input.", completion: .file())
  var file: String

  @Flag(help: "Only check the file.")
  var check = false

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "The only central that may connect: directed advertising, which names it and carries no "
        + "data. For a bonded one, it uses private addresses.", valueName: "address"))
  var target: String?

  /// The central that is called; by a bond's address, whichever kind that is.
  private func targetAddress() throws -> DeviceAddress? {
    guard let target else { return nil }
    // The bonds of a hub, which tell the kind of the address, are not for programs.
    if try options.hubPath() != nil { throw CommandFailure.needsOwnRadio("--for") }
    guard let random = DeviceAddress(target, kind: .random) else {
      throw CommandFailure(.usage, "\"\(target)\" is no address; one is C0:12:34:56:78:9A")
    }
    let publicAddress = DeviceAddress(bits: random.bits, kind: .public)
    let radio = try options.radioChoice()
    let path = try BondOptions.explaining { () throws(BondStoreError) in
      try BondStore.defaultPath(for: radio)
    }
    // Without the bonds, the address would be called as of the other kind, in vain.
    let bonds = try BondOptions.explaining { () throws(BondStoreError) in
      try path.map { path throws(BondStoreError) in try BondStore(path: path).load() } ?? []
    }
    return bonds.contains { $0.knownAddress == publicAddress } ? publicAddress : random
  }

  func run() async throws {
    // The file first: a mistake in it is reported without a radio.
    let description = try PeripheralFile.load(file)
    if check {
      let count = description.services.flatMap(\.characteristics).count
      Output(isJSON: false).note(
        "\(file) is valid: \(description.services.count) services, \(count) characteristics.")
      return
    }
    let address = description.address?.kind == .random ? description.address : nil
    let target = try targetAddress()
    try await options.withRadio(
      hostName: description.name, appearance: description.appearance ?? 0, address: address
    ) { session in
      try await Self.serve(description, for: target, session)
    }
  }

  private static func serve(
    _ description: PeripheralFile, for target: DeviceAddress?, _ session: Session
  ) async throws {
    let role = PeripheralRole(session.host)
    try await role.ready(session)
    let server = PeripheralServer(
      role, session.host.provider, description, PeripheralLog(output: session.output))
    if let remark = server.remark { session.output.note(remark) }
    let events = role.events()
    try await server.start(for: target)
    ServingReport.started(description.name, description.advertisedServices, session.output)
    try await session.untilTime { try await server.serve(events) }
    role.manager.stopAdvertising()
    role.manager.removeAllServices()
    if server.droppedCount > 0 {
      session.output.note(
        "\(server.droppedCount) values were dropped because centrals read them too slowly.")
    }
  }
}

/// Tells that something is on the air.
enum ServingReport {
  static func started(_ name: String?, _ services: [BluetoothUUID], _ output: Output) {
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("advertising"), "time": .time(Date()),
          "name": name.map { .string($0) }, "services": .array(services.map(JSON.service)),
        ]))
    }
    let names = services.map { AssignedNumbers.serviceName($0) ?? $0.description }
    let what = ([name.map { "\"\(Fit.safe($0))\"" }].compactMap(\.self) + names)
    output.note("Advertising \(what.joined(separator: ", ")); Ctrl-C ends.")
  }
}
