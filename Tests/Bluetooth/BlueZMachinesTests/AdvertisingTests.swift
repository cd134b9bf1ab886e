import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Advertisements that bluetoothd reads from this program.
struct AdvertisingTests {
  private static let one = RequestToken(rawValue: 1)
  private static let path = BlueZMachine.advertisementRoot + "1"
  private static let uuid = "0000180D-0000-1000-8000-00805F9B34FB"

  private func started() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    return bench
  }

  private static func options(isConnectable: Bool = true) -> AdvertisingOptions {
    var options = AdvertisingOptions()
    options.isConnectable = isConnectable
    // Flags, a service, and manufacturer data of Apple.
    options.data = [2, 1, 0x06, 3, 3, 0x0D, 0x18, 5, 0xFF, 0x4C, 0, 2, 0x15]
    options.scanResponse = [4, 9] + Array("Bob".utf8)
    return options
  }

  @Test func `Advertising data is taken apart into the properties that bluetoothd reads`() throws {
    #expect(
      try Advertisement.properties(Self.options()) == [
        "Type": .string("peripheral"), "Discoverable": .boolean(true),
        "LocalName": .string("Bob"), "ServiceUUIDs": .strings([Self.uuid]),
        "ManufacturerData": .numbered([0x4C: .bytes([2, 0x15])]),
      ])
    // bluetoothd refuses flags in a broadcast.
    let broadcast = try Advertisement.properties(Self.options(isConnectable: false))
    #expect(broadcast["Type"] == .string("broadcast"))
    #expect(broadcast["Discoverable"] == nil)
  }

  @Test func `What bluetoothd can't advertise is refused instead of left out`() {
    var directed = Self.options()
    directed.target = .peer
    var twice = Self.options()
    twice.scanResponse = [4, 0xFF, 0x4C, 0, 1]
    var unknown = Self.options()
    unknown.scanResponse = [2, 0x77, 1]
    var bench = started()
    for options in [directed, twice, unknown] {
      bench.request(.startAdvertising(options, Self.one))
      guard case .failure(.unsupported)? = bench.takeEvents().result(1) else {
        Issue.record("advertised")
        continue
      }
    }
    #expect(bench.calls.isEmpty)
  }

  @Test func `An advertisement is registered, read by bluetoothd and unregistered`() throws {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    #expect(bench.call("RegisterAdvertisement")?.path == adapterPath)
    let properties = try Advertisement.properties(Self.options())
    let objects = bench.call(Self.path, BusName.objectManager, "GetManagedObjects")
    #expect(
      bench.answers[objects]
        == .success([.objects([Self.path: [BusName.advertisement: properties]])]))
    let all = bench.call(
      Self.path, BusName.properties, "GetAll", [.string(BusName.advertisement)])
    #expect(bench.answers[all] == .success([.properties(properties)]))
    #expect(bench.takeEvents() == [])
    bench.reply(to: "RegisterAdvertisement")
    #expect(bench.takeEvents().result(1) == .success(.done))
    bench.request(.stopAdvertising)
    #expect(bench.call("UnregisterAdvertisement")?.arguments == [.path(Self.path)])
    let late = bench.call(Self.path, BusName.objectManager, "GetManagedObjects")
    guard case .failure? = bench.answers[late] else {
      Issue.record("an old advertisement has an object")
      return
    }
  }

  @Test func `Another program gets nothing from an advertisement`() {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    let call = bench.call(
      Self.path, BusName.objectManager, "GetManagedObjects", from: ":1.99")
    guard case .failure? = bench.answers[call] else {
      Issue.record("another program was answered")
      return
    }
  }

  @Test func `A new advertisement of a client replaces its old one`() {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    bench.request(.startAdvertising(Self.options(), RequestToken(rawValue: 2)))
    #expect(
      bench.calls.map(\.call.member) == [
        "RegisterAdvertisement", "UnregisterAdvertisement", "RegisterAdvertisement",
      ])
    #expect(bench.takeEvents().result(1) == .failure(.cancelled))
    bench.reply(to: "RegisterAdvertisement")
    #expect(bench.takeEvents() == [])
    bench.reply(to: "RegisterAdvertisement")
    #expect(bench.takeEvents().result(2) == .success(.done))
  }

  @Test func `Refusals of advertisements are typed errors`() {
    for (name, isLimit) in [
      ("org.bluez.Error.NotPermitted", true), ("org.bluez.Error.Failed", false),
    ] {
      var bench = started()
      bench.request(.startAdvertising(Self.options(), Self.one))
      bench.refuse("RegisterAdvertisement", name)
      switch bench.takeEvents().result(1) {
      case .failure(.limitReached): #expect(isLimit)
      case .failure(.invalidArgument): #expect(!isLimit)
      default: Issue.record("no typed error for \(name)")
      }
      // A later one may have room.
      bench.request(.startAdvertising(Self.options(), RequestToken(rawValue: 2)))
      bench.reply(to: "RegisterAdvertisement")
      #expect(bench.takeEvents().result(2) == .success(.done))
    }
  }

  @Test func `A bluetoothd that comes back gets the advertisement anew`() {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    bench.reply(to: "RegisterAdvertisement")
    bench.ownerChanged(to: "")
    #expect(bench.calls.isEmpty)
    bench.ownerChanged(to: daemon)
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    #expect(bench.count(of: "RegisterAdvertisement") == 1)
  }

  @Test func `bluetoothd that ends before it has registered an advertisement is an error`() {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    bench.ownerChanged(to: "")
    #expect(bench.takeEvents().result(1) == .failure(.radioNotReady))
  }

  @Test func `A session that closes ends its advertising`() {
    var bench = started()
    bench.request(.startAdvertising(Self.options(), Self.one))
    bench.reply(to: "RegisterAdvertisement")
    bench.handle(.closed(.first))
    #expect(bench.count(of: "UnregisterAdvertisement") == 1)
  }
}
