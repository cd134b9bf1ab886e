import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation

/// Publishes a service on the local network.
struct Publish: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Publish a service on the local network (Bonjour) until Ctrl-C.",
    discussion: """
      Where another host has the name, another is taken ("Desk lamp (2)"), unless --no-rename says \
      that this is a failure. The service itself is somebody else's: this only tells where it is.

      EXAMPLES:
        ambit publish "Desk lamp" _http._tcp 8080 room=study
        ambit publish Files smb 445 --subtype _photos --timeout 1h
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name, as people are to see it.")
  var name: String

  @Argument(help: "The type: _http._tcp, or http.")
  var type: String

  @Argument(help: "The port where the service listens.")
  var port: UInt16

  @Argument(help: "What else it says about itself: key=value, or key alone.")
  var text: [String] = []

  @Option(help: ArgumentHelp("A subtype; may be given several times.", valueName: "subtype"))
  var subtype: [String] = []

  @Flag(help: "Fail where another host has the name.")
  var noRename = false

  func run(_ session: NetworkSession) async throws {
    let service = try NetworkText.service(name, NetworkText.type(type))
    let registration: ServiceRegistration
    do throws(DNSWireError) {
      registration = try ServiceRegistration(
        service, subtypes: subtype, port: port, text: try TXTRecord(text.map(Self.entry)),
        conflictPolicy: noRename ? .refuse : .rename)
    } catch {
      throw CommandFailure(
        .usage, "the service cannot be published so: \(NetworkText.reason(error))")
    }
    session.output.progress("Publishing …")
    for await event in session.events(of: registration) {
      switch event {
      case .registered(let name): tell(name, session.output)
      case .refused:
        throw CommandFailure(.failure, "another host has the name \"\(name)\"")
      case .failed:
        throw CommandFailure(
          .failure, "too many programs of this machine use Bonjour; try again later")
      }
    }
  }

  private static func entry(_ text: String) -> TXTRecord.Entry {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count > 1 ? parts.last.map { Array($0.utf8) } : nil
    return TXTRecord.Entry(key: parts.first.map(String.init) ?? "", value: value)
  }

  private func tell(_ name: DNSName, _ output: Output) {
    let shown = ServiceName(name)?.instanceText ?? "\(name)"
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("published"), "name": .string(shown), "port": .integer(Int64(port)),
          "time": .time(Date()),
        ]))
    }
    output.line("Published as \"\(Fit.safe(shown))\".")
  }
}

/// Asks for records of any name and type.
struct NetworkQuery: NetworkCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Ask for records by Multicast DNS.",
    discussion: """
      Goes on until Ctrl-C or --timeout, printing what comes and goes.

      EXAMPLES:
        ambit query printer.local
        ambit query _services._dns-sd._udp.local PTR --timeout 2
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name, in local. or of a link-local address.")
  var name: String

  @Argument(help: "The type of record: A, AAAA, PTR, SRV, TXT, ANY …, or its number.")
  var type = "ANY"

  func run(_ session: NetworkSession) async throws {
    let (name, type) = (try NetworkText.name(name), try NetworkText.recordType(type))
    session.output.progress("Asking …")
    var names = InterfaceNames(of: session.host)
    for await found in session.events(of: .records(name, type)) {
      let interface = await names.name(of: found.interface)
      switch found.event {
      case .recordAdded(let record): tell("found", record, interface, session.output)
      case .recordRemoved(let record): tell("gone", record, interface, session.output)
      case .failed(let error): throw NetworkText.failure(error)
      default: break
      }
    }
  }

  private func tell(
    _ event: String, _ record: DNSRecord, _ interface: String?, _ output: Output
  ) {
    if output.isJSON {
      return output.object(
        .object([
          "event": .string(event), "name": .string("\(record.name)"),
          "type": .string("\(record.type)"), "ttl": .integer(Int64(record.ttlSeconds)),
          "data": .string("\(record.data)"), "interface": interface.map { .string($0) },
        ]))
    }
    let clock = output.style.dim(ValueReport.clock(Date()))
    output.line("\(clock)  \(event == "found" ? "+" : "-")  \(Fit.safe("\(record)"))")
  }
}
