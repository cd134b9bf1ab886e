import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Synchronization
import Testing

@testable import Bonjour

@Suite("What other hosts can make a program keep")
struct SearchBoundTests {
  @Test("events after which more are always to come are handed on in parts")
  func batches() {
    let counts = Mutex<[Int]>([])
    let batches = EventBatches { batch in counts.withLock { $0.append(batch.count) } }
    for number in 0...25_000 {
      batches.take(
        FoundEvent(
          event: .addressAbsent(.v4), interface: .first, moreComing: number < 25_000))
    }
    #expect(counts.withLock { $0 } == [10_000, 10_000, 5_001])
  }

  @Test("a search keeps a limited number of a host's addresses, and takes others when some go")
  func addresses() {
    let discovery = ScriptedDiscovery()
    let counts = Mutex<[Int]>([])
    let resolver = HostResolver(.lampHost, on: nil, discovery) { addresses in
      counts.withLock { $0.append(addresses.count) }
    }
    let most = HostResolver.addressesMax
    func added(_ number: Int) -> QueryEvent {
      .addressAdded(.v4(Inet4Address(rawValue: 0x0A00_0000 + UInt32(number))), ttlSeconds: 120)
    }
    let request = QueryRequest.addresses(.lampHost, versions: [.v4, .v6])
    discovery.notify(request, (0..<most + 10).map(added))
    discovery.notify(request, added(most + 10))
    discovery.notify(request, .addressRemoved(.v4(Inet4Address(rawValue: 0x0A00_0000))))
    discovery.notify(request, added(most + 10), added(most + 11))
    #expect(counts.withLock { $0 } == [most, most - 1, most])
    withExtendedLifetime(resolver) {}
  }
}
