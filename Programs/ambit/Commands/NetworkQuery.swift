import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire

/// Queries records of any name and type.
struct NetworkQuery: NetworkCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Query records by Multicast DNS.",
    discussion: """
      Runs until Ctrl-C or --timeout, printing records that are added and removed; with --once until \
      the first answer, for up to 5 s. Without any answer it fails. For an address, or a name in \
      in-addr.arpa or ip6.arpa, it queries the name of the host.

      EXAMPLES:
        ambit query printer.local A --once
        ambit query 192.168.1.9 --once
        ambit query 9.1.168.192.in-addr.arpa --once
        ambit query _services._dns-sd._udp.local PTR --timeout 2
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name, in local. or the reverse name of an address; or an IP address.")
  var name: String

  @Argument(
    help: """
      The type of record: A, AAAA, PTR, SRV, TXT, ANY …, or its number. Default: ANY; PTR for an \
      address and a reverse name.
      """)
  var type: String?

  @Flag(name: [.customShort("t"), .long], help: "End after the first answer.")
  var once = false

  var endsByItself: Bool { true }

  func run(_ session: NetworkSession) async throws {
    let (name, isReverse) = try NetworkText.queried(self.name)
    let type = try NetworkText.recordType(self.type ?? (isReverse ? "PTR" : "ANY"))
    session.output.progress("Asking …")
    let heard = Guarded((isAnswered: false, isAbsent: false))
    let follow = { @Sendable () async throws -> Void in
      var names = InterfaceNames(of: session.host)
      let events = session.host.events(
        of: .records(name, type), options: QueryOptions(reachesBeyondLink: isReverse))
      for await found in events {
        let interface = await names.name(of: found.interface)
        switch found.event {
        case .recordAdded(let record):
          heard.update { $0.isAnswered = true }
          tell("found", record, interface, session.output)
        case .recordRemoved(let record): tell("gone", record, interface, session.output)
        case .recordAbsent: heard.update { $0.isAbsent = true }
        case .failed(let error): throw NetworkText.failure(error)
        default: break
        }
        let isEnough = heard.update { $0.isAnswered || $0.isAbsent }
        if once, isEnough, !found.moreComing { return }
      }
    }
    if let limit = once ? session.limit : options.timeout {
      _ = try await race(limit.duration, follow)
    } else {
      try await follow()
    }
    let (isAnswered, isAbsent) = heard.value
    if isAnswered || Task.isCancelled { return }
    guard !isAbsent else {
      throw CommandFailure(.notFound, "\(name) has no records of type \(type)")
    }
    throw CommandFailure(.notFound, "no answer within \(session.limit)")
  }

  private func tell(
    _ event: String, _ record: DNSRecord, _ interface: String?, _ output: Output
  ) {
    if output.isJSON {
      var text: (object: JSON, strings: JSON)?
      if case .txt(let record) = record.data {
        text = (TextPair.object(of: record), TextPair.strings(of: record))
      }
      return output.object(
        .object([
          "event": .string(event), "name": .string("\(record.name)"),
          "type": .string("\(record.type)"), "ttl": .integer(Int64(record.ttlSeconds)),
          "data": .string("\(record.data)"), "text": text?.object, "strings": text?.strings,
          "interface": interface.map { .string($0) },
        ]))
    }
    let clock = output.style.dim(ValueReport.clock(Date()))
    output.line("\(clock)  \(event == "found" ? "+" : "-")  \(Fit.safe("\(record)"))")
  }
}
