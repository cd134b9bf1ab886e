import BluetoothInterface
import BluetoothWire
import Essentials
import Synchronization
import Testing

@testable import CoreBluetooth

/// An open channel to a scripted host.
private struct ChannelFixture {
  let central = CentralFixture()
  let peripheral: CBPeripheral
  let channel: CBL2CAPChannel
  let input: InputStream
  let output: OutputStream
  let info = ChannelInfo(id: ChannelID(rawValue: 7), peer: .strap, psm: 0x80, peerMTU: 100)
  var host: ScriptedHost { central.host }

  init() throws {
    peripheral = try central.connected()
    peripheral.openL2CAPChannel(0x80)
    // Bytes may come before the app's queue has learned of the channel.
    let token = try #require(central.host.requests.last?.token)
    central.host.deliver(
      .completed(token, .success(.channel(info))), .channelReceived(info.id, [1, 2, 3]))
    channel = try #require(central.recorder.channel)
    central.recorder.channel = nil
    input = try #require(channel.inputStream)
    output = try #require(channel.outputStream)
  }

  func read(_ count: Int) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: count)
    let got = input.read(&buffer, maxLength: count)
    return got < 0 ? nil : Array(buffer.prefix(got))
  }
}

/// Counts the events of streams, and ends the run loop when it has seen enough.
private final class StreamWatcher: NSObject, StreamDelegate, @unchecked Sendable {
  // Unchecked: used on one thread.
  var events: [String] = []

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    let side = aStream is InputStream ? "in" : "out"
    switch eventCode {
    case .openCompleted: events.append("\(side) open")
    case .hasBytesAvailable:
      var buffer = [UInt8](repeating: 0, count: 2)
      let count = (aStream as? InputStream)?.read(&buffer, maxLength: 2) ?? 0
      events.append("\(side) \(Array(buffer.prefix(count)))")
    case .hasSpaceAvailable: events.append("\(side) space")
    case .endEncountered: events.append("\(side) end")
    case .errorOccurred: events.append("\(side) error")
    default: break
    }
  }
}

@Suite("CBL2CAPChannel")
struct ChannelTests {
  @Test("bytes are read and written once the streams are open, and the host learns of reads")
  func bytes() throws {
    let fixture = try ChannelFixture()
    #expect(fixture.channel.psm == 0x80)
    #expect(fixture.channel.peer === fixture.peripheral)
    #expect(!fixture.input.hasBytesAvailable)
    #expect(fixture.input.streamStatus == .notOpen)
    fixture.input.open()
    fixture.output.open()
    #expect(fixture.input.hasBytesAvailable)
    #expect(fixture.read(2) == [1, 2])
    #expect(fixture.read(2) == [3])
    let consumed = fixture.host.requests.compactMap { request -> Int? in
      if case .consumedFromChannel(_, let count) = request { count } else { nil }
    }
    #expect(consumed == [2, 1])
    #expect(fixture.output.hasSpaceAvailable)
    #expect(fixture.output.write([9, 8], maxLength: 2) == 2)
    guard case .sendOnChannel(let id, let bytes, _) = fixture.host.requests.last else {
      Issue.record("nothing sent")
      return
    }
    #expect(id == fixture.info.id)
    #expect(bytes == [9, 8])
  }

  @Test("a full output stream takes no more until bytes are gone")
  func backPressure() throws {
    let fixture = try ChannelFixture()
    fixture.output.open()
    let much = [UInt8](repeating: 5, count: Limits.channelOutputByteCountMax + 100)
    let taken = fixture.output.write(much, maxLength: much.count)
    #expect(taken == Limits.channelOutputByteCountMax)
    #expect(!fixture.output.hasSpaceAvailable)
    fixture.host.answer(.success(.done))
    #expect(fixture.output.hasSpaceAvailable)
  }

  @Test("the end of a channel comes after its last bytes")
  func end() throws {
    let fixture = try ChannelFixture()
    fixture.input.open()
    fixture.host.deliver(.channelClosed(fixture.info.id, nil))
    #expect(fixture.read(8) == [1, 2, 3])
    #expect(fixture.read(8) == [])
    #expect(fixture.input.streamStatus == .atEnd)
    fixture.output.open()
    #expect(fixture.output.write([1], maxLength: 1) == -1)
  }

  @Test("the end of the link is an error of the streams")
  func linkLoss() throws {
    let fixture = try ChannelFixture()
    fixture.input.open()
    fixture.host.deliver(
      .channelClosed(fixture.info.id, .disconnected(HCIStatus(rawValue: 0x08))))
    #expect(fixture.read(8) == [1, 2, 3])
    #expect(fixture.read(8) == nil)
    #expect(fixture.input.streamStatus == .error)
    #expect((fixture.input.streamError as? CBError)?.code == .connectionTimeout)
  }

  @Test("closing both streams closes the channel")
  func close() throws {
    let fixture = try ChannelFixture()
    fixture.input.open()
    fixture.input.close()
    #expect(fixture.host.requests.last?.name != "closeChannel")
    fixture.output.close()
    #expect(fixture.host.requests.last?.name == "closeChannel")
    #expect(fixture.input.streamStatus == .closed)
  }

  @Test("delegates are called on the run loop, again for what they left and from other threads")
  func runLoop() throws {
    let fixture = try ChannelFixture()
    let watcher = StreamWatcher()
    let loop = RunLoop.current
    fixture.input.delegate = watcher
    fixture.input.schedule(in: loop, forMode: .default)
    fixture.input.open()
    func turn(until count: Int) {
      for _ in 0..<100 where watcher.events.count < count {
        _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 5))
      }
    }
    turn(until: 3)
    #expect(watcher.events == ["in open", "in [1, 2]", "in [3]"])
    let id = fixture.info.id
    let host = fixture.host
    Thread.detachNewThread { host.deliver(.channelReceived(id, [4])) }
    turn(until: 4)
    #expect(watcher.events.last == "in [4]")
    Thread.detachNewThread { host.deliver(.channelClosed(id, nil)) }
    turn(until: 5)
    #expect(watcher.events.last == "in end")
    fixture.input.remove(from: loop, forMode: .default)
    fixture.input.close()
  }

  @Test("nothing of a channel stays when the app lets go of it")
  func lifetimes() throws {
    weak var connection: HostConnection?
    weak var input: InputStream?
    do {
      let fixture = try ChannelFixture()
      fixture.input.schedule(in: .current, forMode: .default)
      fixture.input.open()
      connection = fixture.central.manager.session.connection
      input = fixture.input
      fixture.host.deliver(.channelClosed(fixture.info.id, nil))
    }
    #expect(input == nil)
    #expect(connection == nil)
  }

  @Test("a read may have any length")
  func anyLength() throws {
    let fixture = try ChannelFixture()
    fixture.input.open()
    #expect(fixture.read(1) == [1])
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(fixture.input.read(&buffer, maxLength: .min) == 0)
    #expect(fixture.input.read(&buffer, maxLength: .max) == 2)
    #expect(fixture.output.write(&buffer, maxLength: 8) == -1)
  }

  @Test("a refused channel is reported")
  func refused() throws {
    let central = CentralFixture()
    let peripheral = try central.connected()
    peripheral.openL2CAPChannel(0x80)
    central.host.answer(.failure(.channelRefused(2)))
    #expect(central.record.lines == ["channel operationNotSupported"])
  }
}
