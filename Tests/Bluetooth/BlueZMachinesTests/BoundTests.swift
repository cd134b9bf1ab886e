import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Bounds, what happens at them, and that there is room again; and what bluetoothd has no call for.
struct BoundTests {
  private func connected() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    return bench
  }

  @Test
  func `Values before the reply to a subscription are kept up to a bound, and counted beyond it`() {
    var bench = connected()
    bench.subscribe()
    for number in 0..<BlueZLimits.earlyValueCountMax + 3 {
      bench.notify([UInt8(truncatingIfNeeded: number)])
    }
    bench.reply(to: "StartNotify")
    #expect(bench.takeEvents().values.count == BlueZLimits.earlyValueCountMax)
    bench.notify([7])
    #expect(
      bench.takeEvents() == [
        .valuesDropped(.peer, handle: 0x0C, count: 3), .valueUpdated(.peer, handle: 0x0C, [7]),
      ])
    // The next subscription has all of the room.
    let target = SubscriptionTarget(valueHandle: 0x0C, endHandle: 0x0C, usesIndications: false)
    bench.request(.unsubscribe(.peer, target, RequestToken(rawValue: 1)))
    bench.reply(to: "StopNotify")
    bench.subscribe(token: 91)
    bench.notify([8])
    bench.reply(to: "StartNotify")
    #expect(bench.takeEvents().values == [[8]])
  }

  @Test func `A client has a bounded number of requests, and room for one when one has ended`() {
    var bench = connected()
    let count = UInt64(BlueZLimits.requestCountMax)
    for token in 1...count { bench.gatt(.read(0x0C), token: token) }
    #expect(bench.takeEvents() == [])
    bench.gatt(.read(0x0C), token: count + 1)
    guard case .failure(.limitReached)? = bench.takeEvents().result(count + 1) else {
      Issue.record("no bound")
      return
    }
    bench.reply(to: "ReadValue", [.bytes([1])])
    bench.gatt(.read(0x0C), token: count + 2)
    #expect(bench.takeEvents().count == 1)
    bench.gatt(.read(0x0C), token: count + 3)
    #expect(bench.takeEvents().result(count + 3) != nil)
  }

  @Test func `One value is written reliably; several, and signed writes, are refused`() {
    var bench = connected()
    let one = AttributeValue(handle: 0x0C, value: [1])
    bench.gatt(.reliableWrite([one]), token: 1)
    #expect(
      bench.call("WriteValue")?.arguments
        == [.bytes([1]), .properties(["type": .string("reliable")])])
    bench.reply(to: "WriteValue")
    #expect(bench.takeEvents().result(1) == .success(.done))
    let both = [one, AttributeValue(handle: 0x11, value: [2])]
    for (token, operation) in [
      (2, .reliableWrite(both)), (3, .reliableWrite([])), (4, .signedWrite(0x0C, [1])),
    ] as [(UInt64, GATTOperation)] {
      bench.gatt(operation, token: token)
      guard case .failure(.unsupported)? = bench.takeEvents().result(token) else {
        Issue.record("\(operation) was not refused")
        continue
      }
    }
    #expect(bench.calls.isEmpty)
  }

  @Test func `Scans that bluetoothd can't perform are a warning, once, and scan otherwise`() {
    for change in [{ $0.usesCodedPHY = true }, { $0.solicitedServices = [0x180D] }]
      as [(inout ScanOptions) -> Void]
    {
      var bench = BlueZBench()
      bench.start()
      var options = ScanOptions()
      change(&options)
      bench.startScan(options)
      bench.request(.startScan(options))
      #expect(bench.warnings.count == 1)
      bench.hear()
      #expect(bench.takeEvents().reports.count == 1)
    }
  }
}
