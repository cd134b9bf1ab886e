import ARPWire
import ArgumentParser
import BonjourHost
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire

/// Gives an interface an address without anybody's help.
struct LinkLocal: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "linklocal",
    abstract: "Give an interface a link-local IPv4 address, without DHCP, until Ctrl-C.",
    discussion: """
      The address is one of 169.254.0.0/16 that no host on the link uses, which is probed for by ARP \
      (RFC 3927). It is defended, changed after a conflict, and removed at the end, or as soon as \
      the interface gets another address. This requires root, or the capabilities CAP_NET_RAW and \
      CAP_NET_ADMIN.

      After --timeout, too, the address is removed, and the command ends with success.

      EXAMPLES:
        ambit linklocal eth0
        ambit linklocal eth0 --start 169.254.7.7 --json
      """)

  @Argument(help: "The interface, as in eth0.")
  var interface: String

  @Option(
    help: ArgumentHelp(
      "The address to try first. Default: the interface's last address, else one derived from its "
        + "hardware address.", valueName: "address"),
    transform: { text in
      guard let address = Inet4Address(text: text), LinkLocalAddresses.range.contains(address)
      else {
        throw ValidationError("\"\(text)\" is not an address of 169.254.1.0 to 169.254.254.255.")
      }
      return address
    })
  var start: Inet4Address?

  @Option(
    help: ArgumentHelp(
      "The folder that stores the last addresses of interfaces, by hardware address.",
      valueName: "folder"))
  var state = "/var/lib/ambit"

  @OptionGroup var options: RunOptions

  func run() async throws {
    Output.limitWaiting(after: options.timeout?.duration)
    let report = LinkLocalReport(interface: interface, output: Output(isJSON: options.json))
    let (ends, continuation) = AsyncThrowingStream.makeStream(of: Never.self)
    let host: LinkLocalHost
    do throws(LinkLocalError) {
      host = try await LinkLocalHost.start(
        on: interface,
        configuration: LinkLocalConfiguration(firstAddress: start, folder: state)
      ) { event in
        if case .failed(let error) = event {
          continuation.finish(throwing: LinkLocalReport.failure(error))
        } else {
          report.tell(event)
        }
      }
    } catch { throw LinkLocalReport.failure(error) }
    let result: Result<Void, any Error>
    do {
      try await options.untilTime { for try await _ in ends {} }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await host.close()
    try result.get()
  }
}

/// Prints the changes of an interface's link-local address.
struct LinkLocalReport: Sendable {
  let interface: String
  let output: Output

  static func failure(_ error: LinkLocalError) -> CommandFailure {
    let status: ExitStatus =
      switch error.reason {
      case .noInterface, .noHardwareAddress: .usage
      case .notPermitted: .notPermitted
      case .alreadyManaged, .refused: .failure
      }
    return CommandFailure(status, "\(error)")
  }

  func tell(_ event: LinkLocalEvent) {
    let words = Words(event, interface)
    guard output.isJSON else {
      let clock = output.style.dim(ValueReport.clock(Date()))
      return output.line("\(clock)  \(words.sentence)")
    }
    output.object(
      .object([
        "event": .string(words.event), "interface": .string(interface),
        "address": words.address.map { .string("\($0)") },
        "other": words.other.map { .string("\($0)") },
        "reason": words.reason.map { .string($0) },
        "seconds": words.pause.map { .number($0.seconds) }, "time": .time(Date()),
      ]))
  }

  /// An event, for people and for programs.
  struct Words: Hashable {
    var event: String
    var sentence: String
    var address: Inet4Address?
    var other: MACAddress?
    var reason: String?
    var pause: TimeSpan?

    init(_ event: LinkLocalEvent, _ interface: String) {
      switch event {
      case .waiting(.linkDown):
        (self.event, reason) = ("waiting", "linkDown")
        sentence = "\(interface) has no link: waiting for one"
      case .waiting(.otherAddress(let other)):
        (self.event, reason, address) = ("waiting", "otherAddress", other)
        sentence = "\(interface) has the address \(other): waiting until it has none"
      case .probing(let address):
        (self.event, self.address) = ("probing", address)
        sentence = "probing for \(address)"
      case .conflict(let address, let other):
        (self.event, self.address, self.other) = ("conflict", address, other)
        sentence = "\(other) uses \(address) or probes for it: trying another"
      case .pausing(let span):
        (self.event, pause) = ("pausing", span)
        sentence = "too many conflicts: pausing for \(Int(span.seconds.rounded(.up))) s"
      case .claimed(let address):
        (self.event, self.address) = ("claimed", address)
        sentence = "\(interface) has the address \(address)"
      case .defended(let address, let other):
        (self.event, self.address, self.other) = ("defended", address, other)
        sentence = "\(other) used \(address): defended it"
      case .notStored(let address):
        (self.event, self.address) = ("notStored", address)
        sentence = "\(address) could not be stored for the next run: trying again"
      case .released(let address, let why):
        (self.event, self.address) = ("released", address)
        switch why {
        case .conflict(let other):
          (reason, self.other) = ("conflict", other)
          sentence = "gave up \(address): \(other) uses it"
        case .linkChanged:
          reason = "linkChanged"
          sentence = "gave up \(address): the link went down, or may be another"
        case .routableAddress:
          reason = "otherAddress"
          sentence = "gave up \(address): \(interface) has another address"
        case .shutDown:
          reason = "ended"
          sentence = "removed \(address)"
        }
      case .failed(let error):
        (self.event, reason) = ("failed", "\(error)")
        sentence = "\(error)"
      }
    }
  }
}
