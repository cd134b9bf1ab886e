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
  /// Whether its success means that nothing else was to be found.
  var findsAll: Bool { get }
  func run(_ session: NetworkSession) async throws
}

extension NetworkCommand {
  var endsByItself: Bool { false }
  var findsAll: Bool { false }

  func run() async throws {
    Output.limitWaiting(after: options.timeout?.duration)
    let names = options.interface.isEmpty ? nil : Set(options.interface)
    let output = Output(isJSON: options.json)
    var configuration = BonjourConfiguration(interfaceNames: names)
    // A host on interfaces of its own uses no hub, which the user that chose them need not read, and few
    // machines have one.
    configuration.usesHub = names == nil
    configuration.notesAbsentHub = false
    let host = BonjourHost(
      configuration: configuration, log: { output.warn($0.trimmingSuffix(".")) })
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
      try await session.checkOutcome(findsAll: findsAll)
      if !output.isJSON, let remark = session.remark.value { output.note(remark) }
      result = .success(())
    } catch {
      result = .failure(await session.explained(error))
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
  /// What the command has still to do before its end is a success, as a failure; nil if nothing.
  let unfinished = Guarded<CommandFailure?>(nil)
  /// A remark for people at the end of a command that has succeeded; nil if there is none.
  let remark = Guarded<String?>(nil)

  /// The maximum time to find the hub of this machine, or to do without: a silent hub is left after 5 s.
  private static let settlingTimeMax = Duration.seconds(12)

  /// The maximum time of an answer without `--timeout`.
  private static let answerTime = TimeSpan.seconds(5)

  var limit: Seconds { options.timeout ?? Seconds(span: Self.answerTime) }

  /// Returns when it is known whether a hub runs Multicast DNS, before which no query is sent, or after
  /// the maximum time.
  fileprivate func settle() async throws {
    let (settled, continuation) = AsyncStream<Never>.makeStream()
    Task {
      _ = await host.knownInterfaces
      continuation.finish()
    }
    _ = try await race(min(limit.duration, Self.settlingTimeMax)) { for await _ in settled {} }
  }

  /// Fails where the end of the command must not be taken for a success, or for an empty network.
  ///
  /// - Parameter findsAll: Whether it would mean that nothing else was to be found.
  fileprivate func checkOutcome(findsAll: Bool) async throws {
    let availability = await host.availability
    let isDone = availability == .recovering && !findsAll
    if let failure = unfinished.value ?? (isDone ? nil : Self.failure(availability)) {
      throw failure
    }
  }

  /// The failure of the command: that nothing was found means nothing where no query was sent.
  fileprivate func explained(_ error: any Error) async -> any Error {
    guard let failure = error as? CommandFailure, failure.status == .notFound else { return error }
    return Self.failure(await host.availability) ?? error
  }

  /// Why what a command asked for was not done; nil if it was.
  private static func failure(_ availability: BonjourHost.Availability) -> CommandFailure? {
    switch availability {
    case .works: nil
    case .silent:
      CommandFailure(
        .failure, "the hub that runs Bonjour for this program does not answer; try again later")
    case .recovering:
      CommandFailure(
        .failure, "the hub that ran Bonjour for this program did not answer; try again")
    case .refused: NetworkText.refusal(of: "the query")
    }
  }

  /// Fails for an interface that is not there.
  func checkInterfaces(named names: Set<String>?) async throws {
    guard let names else { return }
    for name in names.sorted() where if_nametoindex(name) == 0 {
      throw CommandFailure(.usage, "there is no interface \"\(name)\"")
    }
  }

  /// The results of a query, from now on. Services of another domain, which the user named, are
  /// queried on this link, too.
  func events(
    of request: QueryRequest, on interface: InterfaceIndex? = nil,
    buffering: AsyncStream<FoundEvent>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<FoundEvent> {
    let isOfServices =
      switch request {
      case .browse, .resolve, .serviceTypes: true
      case .records, .addresses, .domains: false
      }
    return host.events(
      of: request, on: interface, options: QueryOptions(reachesBeyondLink: isOfServices),
      buffering: buffering)
  }

  /// Where a service is, and again whenever that changes; of changes that come while an earlier one
  /// is handled, the last 16, as there may be several interfaces.
  func locations(of name: ServiceName, on interface: InterfaceIndex?)
    -> AsyncStream<FoundEvent>
  { events(of: .resolve(name), on: interface, buffering: .bufferingNewest(16)) }

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

  /// Returns once there is an interface on which anything can be published.
  func untilNetwork() async throws {
    // Nil if the host gets no interfaces, which its requests report.
    guard var interfaces = await host.knownInterfaces else { return }
    while interfaces.isEmpty {
      try await Task.sleep(for: Self.interfacePause)
      interfaces = await host.interfaces
    }
  }

  /// How soon a new interface is noticed.
  private static let interfacePause = Duration.milliseconds(200)

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
