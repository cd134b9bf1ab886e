import BluetoothHost
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Reactive
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import CoreBluetoothReactive

@Suite("A channel's producers")
struct ChannelTests {
  private let pair = Pair()

  /// A channel that both sides hold: the phone's end, the gadget's, and what ends the publication.
  private func open() throws -> (
    phone: CBL2CAPChannel, gadget: CBL2CAPChannel, peripheral: CBPeripheral,
    publication: any Disposable
  ) {
    let psm = Mutex<CBL2CAPPSM?>(nil)
    let gadget = Mutex<CBL2CAPChannel?>(nil)
    let publication = pair.manager.reactive.channelPublication(withEncryption: false)
      .startWithResult { result in
        switch result {
        case .success(.published(let number)): psm.withLock { $0 = number }
        case .success(.opened(let channel)): gadget.withLock { $0 = channel }
        case .failure(let error): Issue.record(error)
        }
      }
    #expect(pair.radio.advance(within: .seconds(5)) { psm.withLock { $0 != nil } })
    let (peripheral, _) = try pair.connect()
    let phone = Mutex<CBL2CAPChannel?>(nil)
    peripheral.reactive.openChannel(psm: try #require(psm.withLock { $0 })).startWithResult {
      if case .success(let channel) = $0 { phone.withLock { $0 = channel } }
    }
    #expect(
      pair.radio.advance(within: .seconds(10)) {
        phone.withLock { $0 != nil } && gadget.withLock { $0 != nil }
      })
    return (
      try #require(phone.withLock { $0 }), try #require(gadget.withLock { $0 }), peripheral,
      publication
    )
  }

  private func bytes(_ count: Int) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) })
  }

  @Test("bytes of many writes arrive in order, also those that came before the run")
  func order() throws {
    let ends = try open()
    let all = bytes(300_000)
    for start in stride(from: 0, to: all.count, by: 7_001) {
      let piece = all[start..<min(start + 7_001, all.count)]
      _ = ends.phone.reactive.write(piece).record("write", in: pair.log)
    }
    pair.advance(seconds: 1)
    let received = Mutex(Data())
    let run = ends.gadget.reactive.receivedData.startWithResult {
      if case .success(let data) = $0 { received.withLock { $0 += data } }
    }
    #expect(
      pair.radio.advance(within: .seconds(300)) { received.withLock { $0.count } == all.count })
    #expect(received.withLock { $0 } == all)
    #expect(pair.log.lines.count { $0 == "write completed" } == 43)
    run.dispose()
    ends.publication.dispose()
  }

  @Test("a channel's sender is held back until the receiver reads, which then gets all bytes")
  func heldBack() throws {
    let ends = try open()
    let all = bytes(1_000_000)
    _ = ends.phone.reactive.write(all).record("write", in: pair.log)
    pair.advance(seconds: 20)
    #expect(!pair.log.lines.contains("write completed"))
    let received = Mutex(0)
    _ = ends.gadget.reactive.receivedData.startWithResult {
      if case .success(let data) = $0 { received.withLock { $0 += data.count } }
    }
    #expect(pair.radio.advance(within: .seconds(600)) { received.withLock { $0 } == all.count })
    pair.wait(for: "write completed")
  }

  @Test("a write that is disposed of is sent whole or not at all")
  func disposedWrites() throws {
    let ends = try open()
    let first = ends.phone.reactive.write(bytes(400_000)).record("first", in: pair.log)
    let second = ends.phone.reactive.write(Data("second".utf8)).record("second", in: pair.log)
    _ = ends.phone.reactive.write(Data("third".utf8)).record("third", in: pair.log)
    first.dispose()
    second.dispose()
    let received = Mutex(Data())
    _ = ends.gadget.reactive.receivedData.startWithResult {
      if case .success(let data) = $0 { received.withLock { $0 += data } }
    }
    let expected = bytes(400_000) + Data("third".utf8)
    #expect(
      pair.radio.advance(within: .seconds(300)) { received.withLock { $0.count } >= expected.count }
    )
    #expect(received.withLock { $0 } == expected)
    pair.wait(for: "third completed")
  }

  @Test("a peer that closes completes reading after the last byte, and fails what still waits")
  func closed() throws {
    let ends = try open()
    _ = ends.gadget.reactive.write(Data([1, 2, 3])).record("last", in: pair.log)
    pair.wait(for: "last completed")
    pair.advance(seconds: 2)
    // More than there is room for.
    _ = ends.phone.reactive.write(bytes(2_000_000)).record("write", in: pair.log)
    ends.gadget.inputStream.close()
    ends.gadget.outputStream.close()
    _ = ends.phone.reactive.receivedData.record("read", in: pair.log) { "\(Array($0))" }
    pair.wait(for: "read: [1, 2, 3]", "read completed", "write failed: disconnected here")
    // What begins after the end.
    _ = pair.log.take()
    _ = ends.phone.reactive.write(Data([1])).record("late", in: pair.log)
    _ = ends.phone.reactive.receivedData.record("again", in: pair.log)
    pair.wait(for: "late failed: disconnected here", "again completed")
  }

  @Test("the loss of the link is an error to both, and a second reader is refused")
  func lost() throws {
    let ends = try open()
    _ = ends.phone.reactive.receivedData.record("read", in: pair.log)
    _ = ends.phone.reactive.receivedData.record("second", in: pair.log)
    pair.wait(for: "second failed: refused, invalidParameters")
    _ = ends.phone.reactive.write(bytes(2_000_000)).record("write", in: pair.log)
    pair.move(metres: 10_000)
    pair.wait(
      for: "read failed: disconnected connectionTimeout",
      "write failed: disconnected connectionTimeout")
  }

  @Test("a publication that ends before its answer is taken back, and others get their own")
  func publications() throws {
    let reactive = pair.manager.reactive
    let psms = Mutex<[CBL2CAPPSM]>([])
    let runs = (0..<5).map { _ in
      reactive.channelPublication(withEncryption: false).startWithResult { result in
        if case .success(.published(let psm)) = result { psms.withLock { $0.append(psm) } }
      }
    }
    runs[1].dispose()
    runs[3].dispose()
    pair.advance(seconds: 1)
    let published = psms.withLock { $0 }
    #expect(published.count == 3)
    #expect(Set(published).count == 3)
    for run in runs { run.dispose() }
    pair.advance(seconds: 1)
    // None of these PSMs is published any more.
    let (peripheral, _) = try pair.connect()
    for psm in published {
      _ = peripheral.reactive.openChannel(psm: psm).record("open", in: pair.log) { "\($0.psm)" }
    }
    #expect(
      pair.radio.advance(within: .seconds(10)) {
        pair.log.lines.count { $0.hasPrefix("open failed") } == 3
      }, "\(pair.log.lines)")
  }
}
