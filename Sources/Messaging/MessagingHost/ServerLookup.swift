#if Messaging
  internal import CResolver
  internal import DNSWire
  internal import EventLoop
  internal import Essentials
  internal import Glibc
  internal import XMPPMachines

  /// Finds the servers of a domain in the Domain Name System.
  enum ServerLookup {
    /// The maximum size of an answer: the largest of a query over TCP.
    private static let byteCountMax = 65_535

    /// The servers in the order in which they are tried. Blocks for as long as name servers take to answer.
    static func endpoints(of domain: String) -> [ServerEndpoint] {
      var chance = SeededGenerator.random()
      return ServerCandidates.order(
        domain: domain, plain: answer("_xmpp-client._tcp.", domain),
        direct: answer("_xmpps-client._tcp.", domain), using: &chance)
    }

    private static func answer(_ service: String, _ domain: String) -> ServerCandidates.Answer {
      var bytes = [UInt8](repeating: 0, count: byteCountMax)
      var reason: Int32 = 0
      // A dot at the end: a domain of the search list isn't the account's.
      let count = resolver_query(
        service + domain + ".", Int32(DNSType.srv.rawValue), &bytes, Int32(bytes.count), &reason)
      guard count >= 0 else {
        return reason == HOST_NOT_FOUND || reason == NO_DATA ? .absent : .failed
      }
      return decode(bytes.prefix(Int(count)))
    }

    /// The SRV records of an answer. Malformed records are left out.
    static func decode(_ bytes: ArraySlice<UInt8>) -> ServerCandidates.Answer {
      guard let message = try? DNSMessage(decoding: bytes) else { return .failed }
      let records = message.answers.compactMap { record -> ServerCandidates.Record? in
        guard case .srv(let service) = record.data else { return nil }
        let target = service.target.isRoot ? "" : String(service.target.description.dropLast())
        return ServerCandidates.Record(
          priority: service.priority, weight: service.weight, port: service.port, target: target)
      }
      return records.isEmpty ? .absent : .records(records)
    }
  }
#endif
