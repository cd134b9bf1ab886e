import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
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
      log: { output.note($0) })
    let session = NetworkSession(host: host, options: options.run, output: output)
    let result: Result<Void, any Error>
    do {
      try await session.checkInterfaces(named: names)
      if endsByItself {
        try await run(session)
      } else {
        try await options.run.untilTime { try await run(session) }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    // What was published is withdrawn before the program ends.
    await host.close()
    try result.get()
  }
}

/// A command of the network at work.
struct NetworkSession: Sendable {
  let host: BonjourHost
  let options: RunOptions
  let output: Output

  /// How long an answer may take, unless the user says otherwise.
  private static let answerTime = TimeSpan.seconds(5)
  /// How long addresses may take after the answer that named the host.
  private static let addressTime = Duration.milliseconds(500)

  var limit: Seconds { options.timeout ?? Seconds(span: Self.answerTime) }

  /// Fails for an interface that is not there.
  func checkInterfaces(named names: Set<String>?) async throws {
    guard let names else { return }
    for name in names.sorted() where if_nametoindex(name) == 0 {
      throw CommandFailure(.usage, "there is no interface \"\(name)\"")
    }
  }

  /// What is found, from now on.
  func events(of request: QueryRequest, on interface: InterfaceIndex? = nil)
    -> AsyncStream<FoundEvent>
  { host.events(of: request, on: interface) }

  /// What becomes of a service, from now on.
  func events(of service: ServiceRegistration) -> AsyncStream<RegistrationEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let registration = host.register(service) { continuation.yield($0) }
    continuation.onTermination = { _ in registration.unregister() }
    return stream
  }

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

  /// The addresses of a host that are known at once or come soon, IPv4 first.
  func addresses(of host: DNSName, on interface: InterfaceIndex?) async -> [String] {
    let found = Guarded<[InetAddress]>([])
    _ = try? await race(Self.addressTime) {
      for await event in events(of: .addresses(host, versions: [.v4, .v6]), on: interface) {
        if case .addressAdded(let address, _) = event.event { found.update { $0.append(address) } }
      }
    }
    let all = found.value
    return IPVersion.allCases.flatMap { version in all.filter { $0.version == version } }
      .map(\.description)
  }

  /// What the system calls an interface.
  func interfaceName(_ index: InterfaceIndex?) async -> String? {
    var names = InterfaceNames(of: host)
    return await names.name(of: index)
  }
}

extension BonjourHost {
  /// What is found, from now on.
  func events(of request: QueryRequest, on interface: InterfaceIndex? = nil)
    -> AsyncStream<FoundEvent>
  {
    let (stream, continuation) = AsyncStream.makeStream(of: FoundEvent.self)
    let query = query(request, on: interface) { continuation.yield($0) }
    continuation.onTermination = { _ in query.cancel() }
    return stream
  }
}

/// What people write for names and types, and what they are told when it makes none.
enum NetworkText {
  /// `_http._tcp`, or `http` where TCP is meant.
  static func type(_ text: String) throws(CommandFailure) -> ServiceType {
    do throws(DNSWireError) {
      return try ServiceType(text: text.contains("_") ? text : "_\(text)._tcp")
    } catch {
      throw CommandFailure(
        .usage, "\"\(text)\" is not a type of service like _http._tcp, or http")
    }
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

  /// What is wrong with something that people wrote, without a full stop.
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
        .usage, "\(name) is not asked for on the local network: only names in local. are")
    case .nameTooLong: CommandFailure(.usage, "the name to ask for is too long")
    case .tooManyClients: CommandFailure(.failure, "too much is asked for at once")
    case .identifierInUse: CommandFailure(.failure, "the query could not begin")
    case .timedOut: CommandFailure(.timedOut, "nobody answered in time")
    }
  }
}
