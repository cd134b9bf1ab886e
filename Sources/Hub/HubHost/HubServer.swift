import BluetoothInterface
package import Essentials
package import EventLoop
import Glibc
package import HubMachines

/// A running hub: programs of this machine use its Bluetooth host over a UNIX socket.
///
/// Each session of a program is a session with the host, which acknowledges events when the program does. It
/// serves until it is closed or released. All methods may be called from any thread.
package final class HubServer: Sendable {
  /// Where it listens; nil for a socket that the service manager opened.
  package let path: String?
  /// What its user should know of the number of programs that it can serve, in a sentence; nil if they are many.
  package let warning: String?
  private let core: LoopConfined<HubServerCore>
  private let loop: EpollLoop

  private init(
    path: String?, warning: String?, core: LoopConfined<HubServerCore>, loop: EpollLoop
  ) {
    self.path = path
    self.warning = warning
    self.core = core
    self.loop = loop
  }

  deinit { loop.execute { [core] in core.value.close() } }

  /// Starts a hub.
  ///
  /// - Parameters:
  ///   - socket: Where it listens. The file of a hub that has ended is replaced.
  ///   - radio: The radio of all programs.
  ///   - limits: How much programs may cost.
  ///   - rules: Which programs may use it. If they may allow other users, all users can connect to a socket that it
  ///     makes.
  ///   - peers: Finds out which programs connect.
  ///   - version: The version of the hub's program, for reports of the hub's state.
  ///   - fileCheckSpan: How often it looks whether its path still names its socket, to listen again if not. A
  ///     look costs a microsecond.
  ///   - loop: The event loop, best the one of the radio.
  ///   - onReport: Called on the loop when programs come, go and are refused.
  /// - Throws: If it can't listen, or another hub does.
  package static func start(
    at socket: HubSocket, _ radio: any HubRadio, limits: HubLimits = HubLimits(),
    rules: HubRules = HubRules(), peers: PeerReader = .system, version: String = "",
    fileCheckSpan: TimeSpan = .seconds(5), on loop: EpollLoop = .shared,
    onReport: @escaping @Sendable (HubReport) -> Void = { _ in }
  ) async throws(HubServerError) -> HubServer {
    let claim: SocketClaim?
    if let path = socket.path {
      claim = try SocketClaim(socket, path: path, servesOthers: rules.mayAllowOthers)
    } else {
      claim = nil
    }
    let core = await loop.run {
      LoopConfined(
        HubServerCore(
          radio, claim, limits: limits, rules: rules, peers: peers, version: version,
          fileCheckSpan: fileCheckSpan, on: loop, onReport: onReport),
        to: loop)
    }
    let count = await loop.run { core.value.connectionCountMax }
    guard count > 0 else {
      await loop.run { core.value.close() }
      throw HubServerError(.failed, fileLimitText("no program"))
    }
    try await loop.run { core.value.listen(at: socket) }.get()
    let isFew = count < min(fewPrograms, limits.connectionCountMax)
    let warning = isFew ? fileLimitText(count == 1 ? "one program" : "\(count) programs") : nil
    return HubServer(path: socket.path, warning: warning, core: core, loop: loop)
  }

  /// Less than programs of a machine may be.
  private static let fewPrograms = 64

  private static func fileLimitText(_ programs: String) -> String {
    "The hub can serve \(programs) at a time, because this process may have only "
      + "\(DescriptorLimit.hardLimit) open files (ulimit -Hn)."
  }

  /// The number of programs that are served, and of refusals.
  package func counts() async -> HubCounts { await loop.run { [core] in core.value.counts } }

  /// The numbers for monitoring.
  package func metrics() async -> HubMetrics {
    let (radio, readNetwork) = await loop.run { [core] in
      (core.value.radio, core.value.readNetwork)
    }
    let snapshot = await radio.readHubSnapshot()
    let network = await readNetwork()
    return await loop.run { [core] in core.value.metrics(snapshot, network) }
  }

  /// Sets how the state of the hub's Multicast DNS is read, for the state and the metrics of the hub.
  ///
  /// - Parameter read: Called on any thread. Its result is awaited before a question is answered.
  package func setNetwork(_ read: @escaping @Sendable () async -> HubNetworkStatus?) async {
    await loop.run { [core] in core.value.readNetwork = read }
  }

  /// Sets the reason why the hub runs no Multicast DNS although no option leaves it out, for the state of the hub.
  ///
  /// - Parameter problem: A sentence, with the command that mends it; nil without such a reason.
  package func setNetworkProblem(_ problem: String?) async {
    await loop.run { [core] in core.value.networkProblem = problem }
  }

  /// Waits until all programs have handled the events for them, where the radio's time is virtual. For tests, which
  /// advance the time next.
  package func settle() async {
    await withCheckedContinuation { continuation in
      loop.execute { [core] in core.value.settleAll { continuation.resume() } }
    }
  }

  /// Tells all programs that the hub ends, closes their sessions and connections, and removes the socket.
  package func close() async { await loop.run { [core] in core.value.close() } }
}

extension EpollLoop {
  /// Runs something on the loop, after work that was handed over before, and returns its result.
  func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      execute { continuation.resume(returning: body()) }
    }
  }
}
