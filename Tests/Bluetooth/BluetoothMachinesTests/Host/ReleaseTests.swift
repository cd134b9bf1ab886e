import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("A client that gives up a link")
struct ReleaseTests {
  private let peer = DeviceAddress.peer(1)

  /// A link that two clients have, to a peer that never answers.
  private func shared() -> HostRig {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    for client in [ClientID.one, .two] {
      rig.request(.connect(peer, ConnectOptions()), from: client)
    }
    rig.connect(peer)
    return rig
  }

  private func completions(_ rig: HostRig, of client: ClientID) -> [UInt64] {
    rig.events.compactMap { entry in
      guard entry.client == client, case .completed(let token, _) = entry.event else { return nil }
      return token.rawValue
    }
  }

  @Test("a client's requests are cancelled in order when it gives up a link; others go on")
  func order() {
    var rig = shared()
    var tokens: [RequestToken] = []
    for number in 1...20 as ClosedRange<UInt16> {
      let token = rig.token()
      tokens.append(token)
      rig.request(.gatt(peer, .read(number), token), from: .two)
      rig.request(.gatt(peer, .read(number), rig.token()), from: .one)
    }
    for number in 1...5 as ClosedRange<UInt16> {
      let token = rig.token()
      tokens.append(token)
      let target = SubscriptionTarget(
        valueHandle: 100 + number, configurationHandle: 200, usesIndications: false)
      rig.request(.subscribe(peer, target, token), from: .two)
    }
    rig.request(.disconnect(peer), from: .two)
    #expect(completions(rig, of: .two) == tokens.map(\.rawValue))
    for token in tokens {
      #expect(rig.results(of: token, client: .two) == [.failure(.cancelled)])
    }
    #expect(completions(rig, of: .one).isEmpty)
    #expect(rig.machine.links.count == 1)
  }

  @Test("a client that gave up a link gets no results of its operations")
  func lateAnswer() {
    var rig = shared()
    let token = rig.token()
    rig.request(.gatt(peer, .read(3), token), from: .two)
    rig.request(.disconnect(peer), from: .two)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(rig.results(of: token, client: .two) == [.failure(.cancelled)])
  }

  @Test("a client's requests fail in order when its link is lost")
  func orderAtTheEnd() {
    var rig = shared()
    let tokens = (0..<20).map { _ in rig.token() }
    for token in tokens { rig.request(.gatt(peer, .read(3), token), from: .two) }
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(completions(rig, of: .two) == tokens.map(\.rawValue))
  }
}

@Suite("The cache of peers")
struct PeerCacheTests {
  private func database(_ hash: UInt8?) -> RemoteDatabase {
    var database = RemoteDatabase()
    database.hash = hash.map { [UInt8](repeating: $0, count: 16) }
    return database
  }

  @Test("the cache has one entry for a peer: the latest")
  func newest() {
    var cache = PeerCache()
    for hash in 1...3 as ClosedRange<UInt8> { cache.store(database(hash), of: .peer(1)) }
    #expect(cache.count == 1)
    #expect(cache.database(of: .peer(1))?.hash?.first == 3)
  }

  @Test("the cache keeps its entry if a link ended before anything was learned")
  func nothingLearned() {
    var cache = PeerCache()
    cache.store(database(1), of: .peer(1))
    cache.store(database(nil), of: .peer(1))
    #expect(cache.database(of: .peer(1))?.hash?.first == 1)
  }

  @Test("the cache is bounded: the peer that was not seen for longest is removed first")
  func bound() {
    var cache = PeerCache()
    for number in 0..<PeerCache.Limits.peersMax {
      cache.store(database(1), of: .peer(UInt64(number)))
    }
    cache.store(database(2), of: .peer(0))
    cache.store(database(1), of: .peer(1_000))
    #expect(cache.count == PeerCache.Limits.peersMax)
    #expect(cache.database(of: .peer(0))?.hash?.first == 2)
    #expect(cache.database(of: .peer(1)) == nil)
    #expect(cache.database(of: .peer(2)) != nil)
  }
}
