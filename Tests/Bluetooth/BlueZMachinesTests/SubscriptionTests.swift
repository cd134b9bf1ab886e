import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Subscriptions that end while bluetoothd begins them, and writes that bluetoothd queues.
struct SubscriptionTests {
  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    return bench
  }

  @Test func `A subscription whose session closes before the reply is stopped`() {
    var bench = connected()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.subscribe()
    bench.handle(.closed(.first))
    bench.reply(to: "StartNotify")
    #expect(bench.call("StopNotify")?.path == valuePath)
  }

  @Test func `A subscription that another client waits for is not stopped`() {
    var bench = connected()
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.subscribe()
    bench.subscribe(of: .second)
    bench.handle(.closed(.first))
    bench.reply(to: "StartNotify")
    #expect(bench.count(of: "StopNotify") == 0)
    bench.reply(to: "StartNotify")
    bench.notify([7])
    #expect(bench.takeEvents(of: .second).values == [[7]])
  }

  @Test func `A subscription whose link ends before the reply is stopped`() {
    var bench = connected()
    bench.subscribe()
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.count(of: "StopNotify") == 0)
    bench.reply(to: "StartNotify")
    #expect(bench.call("StopNotify")?.path == valuePath)
  }

  @Test func `A subscription without an answer is stopped`() {
    var bench = connected()
    bench.subscribe(token: 1)
    bench.advance(by: BlueZLimits.procedureMax)
    #expect(bench.takeEvents().result(1) == .failure(.attTimeout))
    #expect(bench.count(of: "StopNotify") == 1)
  }

  @Test func `A refused subscription is not stopped`() {
    var bench = connected()
    bench.subscribe(token: 1)
    bench.refuse("StartNotify", "org.bluez.Error.NotPermitted", "Not paired")
    #expect(bench.count(of: "StopNotify") == 0)
  }

  // MARK: Writes without response

  @Test func `Every 32 writes without response, a read proves that bluetoothd has sent them`() {
    var bench = connected()
    for token in 1...UInt64(BlueZLimits.commandCountMax) {
      bench.gatt(.writeWithoutResponse(0x0C, [UInt8(token)]), token: token)
    }
    for token in 1..<UInt64(BlueZLimits.commandCountMax) {
      bench.reply(to: "WriteValue")
      #expect(bench.takeEvents().result(token) == .success(.done))
    }
    bench.reply(to: "WriteValue")
    #expect(bench.takeEvents() == [])
    #expect(bench.call("ReadValue")?.path == valuePath + "/desc000d")
    // Its error is an answer, too.
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Read not permitted")
    let last = UInt64(BlueZLimits.commandCountMax)
    #expect(bench.takeEvents().result(last) == .success(.done))
  }

  @Test func `A peer without a readable descriptor is written to without that read`() {
    var bench = connected()
    bench.remove(valuePath + "/desc000d", BusName.descriptor)
    for token in 1...UInt64(BlueZLimits.commandCountMax) {
      bench.gatt(.writeWithoutResponse(0x0C, [1]), token: token)
      bench.reply(to: "WriteValue")
      #expect(bench.takeEvents().result(token) == .success(.done))
    }
  }
}
