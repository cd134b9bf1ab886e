import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import SecureConnections
import SimulatedRadio
import Simulation
import Synchronization

/// Reads of values that the peripheral's app returns after a delay, like an app that reads a sensor
/// first. With one bearer each read waits for the previous one; with enhanced bearers they wait in
/// parallel. If the app answers at once, one connection event carries a read either way.
func runEnhancedBearerBenchmarks(isSmoke: Bool, into table: inout Table) throws {
  SecureConnections.install()
  SimulatedRadio.install()
  table.heading(
    "Reads of values that an app gives after 30 ms, connection interval 30 ms, virtual time",
    "".padded(46) + "".leftPadded(14))
  var rates: [Double] = []
  for (name, bearerCount) in [("one bearer", 0), ("four enhanced bearers", 4)] {
    let pair = try ReadingPair(enhancedBearers: bearerCount)
    // The first reads that wait for each other make the host open the bearers.
    _ = try pair.read(16)
    let count = isSmoke ? 100 : 1_000
    rates.append(Double(count) / (try pair.read(count)).seconds)
    table.add("reads in a virtual second, \(name)", rates.last ?? 0, "reads/s")
  }
  table.add("four enhanced bearers to one bearer", rates[1] / rates[0], "times")
}

/// A peripheral whose app takes its time, and a central with an encrypted link to it.
private struct ReadingPair {
  private struct Stuck: Error, CustomStringConvertible { var description: String }

  /// What both clients heard.
  private final class Ears: Sendable {
    struct State {
      var handle: UInt16?
      var isConnected = false
      var isPaired = false
      var isRefused = false
      var readCount = 0
      /// What the app was asked for, in the order of asking.
      var asked: [ServerRequestID] = []
    }

    let state = Mutex(State())

    func hear(_ event: HostEvent) {
      state.withLock { state in
        switch event {
        case .connected: state.isConnected = true
        case .pairingEnded(_, nil): state.isPaired = true
        case .serverRequest(let request): state.asked.append(request.id)
        case .completed(_, .success(.published(let service))):
          state.handle = service.characteristics.first?.valueHandle
        case .completed(_, .success(.value)): state.readCount += 1
        case .completed(_, .failure): state.isRefused = true
        default: break
        }
      }
    }
  }

  /// How long the app takes.
  private static let delay = TimeSpan.milliseconds(30)
  /// Reads that the central's app has asked for at the same time.
  private static let askedAtOnce = 16

  private let radio: VirtualRadio
  private let ears = Ears()
  private let app: HostClient
  private let client: HostClient
  private let peer = DeviceAddress(bits: 0xA0BE_0000_0001, kind: .public)
  private let handle: UInt16
  // Their hosts live as long.
  private let hosts: [BluetoothHost]

  init(enhancedBearers: Int) throws {
    var model = RadioModel()
    model.packetLoss = 0
    radio = VirtualRadio(seed: 1, model: model)
    var configuration = HostConfiguration()
    configuration.enhancedBearerCountMax = enhancedBearers
    let peripheral = radio.makeHost(name: "Sensor", address: peer, configuration: configuration)
    let central = radio.makeHost(name: "Bench", configuration: configuration)
    hosts = [peripheral, central]
    let ears = ears
    app = peripheral.makeClient { ears.hear($0) }
    client = central.makeClient { ears.hear($0) }
    radio.advance(by: .seconds(1))
    let service = ServiceDefinition(
      uuid: 0x1815,
      characteristics: [
        CharacteristicDefinition(
          uuid: Agreed.value, properties: [.read], permissions: [.readable])
      ])
    app.send(.addService(service, RequestToken(rawValue: 1)))
    app.send(.startAdvertising(AdvertisingOptions(), RequestToken(rawValue: 2)))
    client.send(.connect(peer, ConnectOptions()))
    guard radio.advance(within: .seconds(10), until: { ears.state.withLock(\.isConnected) }),
      let handle = ears.state.withLock(\.handle)
    else { throw Stuck(description: "no link was made") }
    self.handle = handle
    client.send(.pair(peer, RequestToken(rawValue: 3)))
    guard radio.advance(within: .seconds(30), until: { ears.state.withLock(\.isPaired) }) else {
      throw Stuck(description: "the pairing did not end")
    }
    radio.advance(by: .seconds(1))
  }

  /// Reads `count` values, several in parallel; returns the virtual time that it took.
  func read(_ count: Int) throws -> TimeSpan {
    let start = radio.now
    let before = ears.state.withLock(\.readCount)
    var askedCount = 0
    var due: [(id: ServerRequestID, at: Instant)] = []
    let isDone = radio.advance(within: .seconds(600)) {
      let (answered, asked) = ears.state.withLock { state in
        defer { state.asked = [] }
        return (state.readCount - before, state.asked)
      }
      let now = radio.now
      due += asked.map { ($0, now + Self.delay) }
      while let first = due.first, first.at <= now {
        due.removeFirst()
        app.send(.respond(first.id, .success(Agreed.payload)))
      }
      while askedCount < count, askedCount - answered < Self.askedAtOnce {
        askedCount += 1
        client.send(.gatt(peer, .read(handle), RequestToken(rawValue: 100 + UInt64(askedCount))))
      }
      return answered >= count
    }
    guard isDone, !ears.state.withLock(\.isRefused) else {
      throw Stuck(description: "the reads came to a standstill, or one failed")
    }
    return radio.now - start
  }
}
