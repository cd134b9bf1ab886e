import ArgumentParser
package import BonjourHost
import DNSWire
package import DiscoveryMachines
import Essentials
import Foundation
import Glibc

/// What every command that uses the network takes.
struct NetworkOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Only this interface, as in eth0; may be given several times. Default: all that are suitable.",
      valueName: "interface"))
  var interface: [String] = []

  @OptionGroup var run: RunOptions

  var timeout: Seconds? { run.timeout }
  var json: Bool { run.json }
}

/// A command that uses the network.
protocol NetworkCommand: AsyncParsableCommand, Sendable {
  var options: NetworkOptions { get }
  /// Whether it ends when it has its answer, so that none in time is a failure.
  var endsByItself: Bool { get }
  func run(_ session: NetworkSession) async throws
}

extension NetworkCommand {
  var endsByItself: Bool { false }

  func run() async throws {
    let names = options.interface.isEmpty ? nil : Set(options.interface)
    let output = Output(isJSON: options.json)
    let host = BonjourHost(
      configuration: BonjourConfiguration(interfaceNames: names),
      log: { output.warn($0.trimmingSuffix(".")) })
    let session = NetworkSession(host: host, options: options.run, output: output)
    let result: Result<Void, any Error>
    do {
      try await session.checkInterfaces(named: names)
      let network = NetworkCheck(host, isChosen: names != nil, output)
      if endsByItself {
        try await session.settle()
        try await run(session)
      } else {
        try await options.run.untilTime { try await run(session) }
      }
      // A command that ran until its timeout without a network had no effect.
      if network.isMissing, await host.interfaces.isEmpty {
        throw CommandFailure(.failure, "no network was found")
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    // Unregisters services before the program ends.
    await host.close()
    try result.get()
  }
}

/// A command of the network at work.
struct NetworkSession: Sendable {
  let host: BonjourHost
  let options: RunOptions
  let output: Output

  /// The maximum time to find the owner of the Multicast DNS port: a stopped owner is detected
  /// after 5 s.
  private static let settlingTimeMax = Duration.seconds(12)

  /// The maximum time of an answer without `--timeout`.
  private static let answerTime = TimeSpan.seconds(5)

  var limit: Seconds { options.timeout ?? Seconds(span: Self.answerTime) }

  /// Returns when the owner of the Multicast DNS port is known, before which no query is sent, or
  /// after the maximum time.
  fileprivate func settle() async throws {
    let (settled, continuation) = AsyncStream<Never>.makeStream()
    Task {
      _ = await host.knownInterfaces
      continuation.finish()
    }
    _ = try await race(min(limit.duration, Self.settlingTimeMax)) { for await _ in settled {} }
  }

  /// Fails for an interface that is not there.
  func checkInterfaces(named names: Set<String>?) async throws {
    guard let names else { return }
    for name in names.sorted() where if_nametoindex(name) == 0 {
      throw CommandFailure(.usage, "there is no interface \"\(name)\"")
    }
  }

  /// The results of a query, from now on.
  func events(of request: QueryRequest, on interface: InterfaceIndex? = nil)
    -> AsyncStream<FoundEvent>
  { host.events(of: request, on: interface) }

  /// Where a service is, and again whenever that changes; of changes that come while an earlier one
  /// is handled, the last 16, as there may be several interfaces.
  func locations(of name: ServiceName, on interface: InterfaceIndex?)
    -> AsyncStream<FoundEvent>
  { host.events(of: .resolve(name), on: interface, buffering: .bufferingNewest(16)) }

  /// The first answer of a kind, and where it was heard; nil if none comes in time.
  func first<Answer: Sendable>(
    _ request: QueryRequest, _ kind: @escaping @Sendable (QueryEvent) -> Answer?
  ) async throws -> (Answer, InterfaceIndex?)? {
    try await race(limit.duration) {
      for await found in events(of: request) {
        if case .failed(let error) = found.event { throw NetworkText.failure(error) }
        if let answer = kind(found.event) { return (answer, found.interface) }
      }
      throw CancellationError()
    }
  }

  /// What the system calls an interface.
  func interfaceName(_ index: InterfaceIndex?) async -> String? {
    var names = InterfaceNames(of: host)
    return await names.name(of: index)
  }
}

/// Warns once it is known that there is no network.
private struct NetworkCheck: Sendable {
  private let isMissingNow = Guarded(false)

  /// Whether there was none when the interfaces became known.
  var isMissing: Bool { isMissingNow.value }

  /// - Parameter isChosen: Whether the user chose the interfaces.
  init(_ host: BonjourHost, isChosen: Bool, _ output: Output) {
    Task { [isMissingNow] in
      guard let names = await host.knownInterfaces?.values else { return }
      isMissingNow.update { $0 = names.isEmpty }
      if names.isEmpty {
        output.warn("there is no network yet")
      } else if !isChosen, names.allSatisfy({ $0 == "lo" }) {
        output.warn("no network: only programs of this machine are reachable")
      }
    }
  }
}

extension Output {
  /// Prints a sentence without a full stop beside the result, in the format of failures.
  package func warn(_ sentence: String) {
    let end = sentence.hasSuffix("?") || sentence.hasSuffix(".") ? "" : "."
    note("\(errorStyle.red("ambit:")) \(Fit.safe(sentence))\(end)", plain: sentence)
  }
}

extension BonjourHost {
  /// The results of a query, from now on.
  package func events(
    of request: QueryRequest, on interface: InterfaceIndex? = nil,
    options: QueryOptions = QueryOptions(),
    buffering: AsyncStream<FoundEvent>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<FoundEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: FoundEvent.self, bufferingPolicy: buffering)
    let query = query(request, on: interface, options: options) { continuation.yield($0) }
    continuation.onTermination = { _ in query.cancel() }
    return stream
  }
}

/// Parses names and types from the command line, and explains invalid ones.
enum NetworkText {
  /// `_http._tcp`, `_http._tcp.local`, or `http` where TCP is meant.
  static func type(_ text: String) throws(CommandFailure) -> ServiceType {
    guard let name = try? DNSName(text: text.contains("_") ? text : "_\(text)._tcp"),
      let type = ServiceType(labelsOf: name), let domain = name.dropFirst(2),
      domain.isRoot || domain == .local
    else {
      throw CommandFailure(
        .usage, "\"\(text)\" is not a type of service like _http._tcp, or http")
    }
    return type
  }

  /// A type with a subtype that may be part of it, as `dns-sd` (`_http._tcp,_printer`) and
  /// `avahi-browse` (`_printer._sub._http._tcp`) take it.
  static func browsed(
    _ text: String, subtype: String?
  ) throws(CommandFailure) -> (type: ServiceType, subtype: String?) {
    guard subtype == nil else { return (try NetworkText.type(text), subtype) }
    if let end = text.firstRange(of: "._sub.") {
      return (
        try NetworkText.type(String(text[end.upperBound...])), String(text[..<end.lowerBound])
      )
    }
    let parts = text.split(separator: ",", maxSplits: 1).map(String.init)
    guard let first = parts.first, parts.count == 2 else {
      return (try NetworkText.type(text), nil)
    }
    return (try NetworkText.type(first), parts.last)
  }

  /// A host's name: `printer`, or `printer.local`.
  static func host(_ text: String) throws(CommandFailure) -> DNSName {
    let name = try name(text)
    guard name.labelCount == 1 else { return name }
    return try self.name(text + ".local")
  }

  static func service(_ name: String, _ type: ServiceType) throws(CommandFailure) -> ServiceName {
    do throws(DNSWireError) {
      return try ServiceName(instance: name, type: type)
    } catch {
      throw CommandFailure(.usage, "\"\(name)\" cannot be a service's name: \(reason(error))")
    }
  }

  static func name(_ text: String) throws(CommandFailure) -> DNSName {
    do throws(DNSWireError) { return try DNSName(text: text) } catch {
      throw CommandFailure(.usage, "\"\(text)\" is not a name: \(reason(error))")
    }
  }

  static func recordType(_ text: String) throws(CommandFailure) -> DNSType {
    guard let type = DNSType(text: text) else {
      throw CommandFailure(.usage, "\"\(text)\" is not a type of record like A, PTR, ANY or 12")
    }
    return type
  }

  /// The error in a name or type, without a full stop.
  static func reason(_ error: DNSWireError) -> String {
    switch error {
    case .emptyLabel: "a part of it is empty"
    case .labelTooLong(let byteCount): "a part of it has \(byteCount) bytes, and 63 are allowed"
    case .nameTooLong: "with its type and domain it is too long"
    case .invalidEscape: "after a backslash comes a character, or three digits up to 255"
    case .controlCharacter: "it has a control character"
    case .messageTooLong(let byteCountMax):
      "all of it together has more than \(byteCountMax) bytes"
    case .invalidKey: "a key has no characters, or others than printable ASCII"
    case .stringTooLong(let byteCount):
      "a key with its value has \(byteCount) bytes, and 255 are allowed"
    case .invalidServiceType: "a type is a name of up to 15 letters, digits and hyphens"
    case .invalidLength(let byteCount): "\(byteCount) bytes of it are too long"
    case .truncated, .reservedLabelType, .invalidPointer: "\(error)"
    }
  }

  static func failure(_ error: QueryError) -> CommandFailure {
    switch error.reason {
    case .notOnThisLink(let name):
      CommandFailure(
        .usage, "\(name) cannot be queried on the local network: only names in local. can")
    case .nameTooLong: CommandFailure(.usage, "the name to query is too long")
    case .tooManyClients:
      CommandFailure(.failure, "too many programs of this machine use Bonjour; try again later")
    case .identifierInUse: CommandFailure(.failure, "the query could not begin")
    case .timedOut: CommandFailure(.timedOut, "the query timed out without an answer")
    }
  }
}
