public import BluetoothInterface
public import BluetoothMachines
package import Essentials
import EventLoop
public import Logging
import Synchronization

/// A running Bluetooth LE host: one radio, any number of clients.
///
/// It drives a `HostMachine` on an event loop over a transport. All methods may be called from any
/// thread; events are delivered on the event loop, in order.
public final class BluetoothHost: Sendable {
  /// The radio that the host was created with, and the reason for the selection.
  public let selection: RadioSelection
  let driver: HostDriver

  /// The radio that the host was created with.
  public var radio: RadioChoice { selection.radio }

  /// Starts a host on a radio.
  ///
  /// A radio that is missing or fails is retried; meanwhile the state is not `.poweredOn` and
  /// `problem` has the reason.
  /// - Parameters:
  ///   - radio: Which radio to use.
  ///   - configuration: The host's name, address and policies.
  ///   - capturePath: A file to write all traffic with the controller to, in btsnoop format; an
  ///     existing file is replaced. Keys are written as zeros, unless the environment variable
  ///     `AMBIT_CAPTURE_KEYS` is 1.
  ///   - bondPath: A file that keeps the bonds with peers for later runs (``BondStore``); without
  ///     it they end with the host.
  ///   - logger: Gets failures of the radio or the capture, one sentence each; by default one
  ///     labelled `ambit.bluetooth`.
  /// - Throws: `CaptureError` if the capture file cannot be created.
  public convenience init(
    radio: RadioChoice, configuration: HostConfiguration = HostConfiguration(),
    captureTo capturePath: String? = nil, bondsIn bondPath: String? = nil,
    logger: Logger? = nil
  ) throws(CaptureError) {
    try self.init(
      RadioSelection(radio), configuration: configuration, captureTo: capturePath,
      bondsIn: bondPath, logger: logger)
  }

  /// Starts a host on a radio that ``RadioSelection/select(named:)`` returned; see
  /// ``init(radio:configuration:captureTo:bondsIn:logger:)``.
  public convenience init(
    _ selection: RadioSelection, configuration: HostConfiguration = HostConfiguration(),
    captureTo capturePath: String? = nil, bondsIn bondPath: String? = nil,
    logger: Logger? = nil
  ) throws(CaptureError) {
    var capture: Capture?
    if let capturePath {
      let includesKeys = ProcessEnvironment.value("AMBIT_CAPTURE_KEYS") == "1"
      capture = try Capture(path: capturePath, includesKeys: includesKeys)
    }
    self.init(
      selection, configuration: configuration, random: .random(), loop: RealTimeLoop(),
      capture: capture, security: .real(bonds: bondPath.map { BondStore(path: $0) }),
      logger: logger ?? .bluetooth,
      makeTransport: selection.radio.transportFactory(on: .shared))
  }

  package init(
    _ selection: RadioSelection, configuration: HostConfiguration, random: SeededGenerator,
    loop: some HostLoop, capture: Capture? = nil, security: SecurityServices = .simulated,
    logger: Logger, makeTransport: @escaping TransportFactory
  ) {
    self.selection = selection
    var configuration = configuration
    configuration.hasKeyAgreement = security.keyAgreement != nil
    driver = HostDriver(
      machine: HostMachine(
        configuration: configuration, random: random,
        secrets: security.entropy.map { SecretGenerator(entropy: $0) }),
      loop: loop, capture: capture, security: security, logger: logger,
      makeTransport: makeTransport)
    driver.start()
  }

  deinit { driver.stop {} }

  /// The host on the radio that the environment variable `AMBIT_RADIO` names, created on first use;
  /// without it, the radio that ``RadioSelection/select(named:)`` finds. `AMBIT_ADDRESS` is the
  /// host's own address, for `HostConfiguration.chooseAddress(named:on:)`, `AMBIT_CAPTURE` names a
  /// capture file and `AMBIT_BONDS` the file of bonds. Without it, that is `ambit/bonds` in
  /// `$XDG_STATE_HOME`, by default `~/.local/state`, for all radios but the simulated one.
  ///
  /// Without the permission that `AMBIT_AUTHORIZATION` gives (`allowed`, the default, `denied` or
  /// `restricted`), the state is `.unauthorized`. If a variable is invalid, the host's state is
  /// `.unsupported`, and the reason is in `problem` and logged. If no radio was named and the
  /// simulated one is used, that is logged, too.
  public static let shared = BluetoothHost.fromEnvironment()

  /// The host for managers created in this task; `shared` unless a test sets another one.
  @TaskLocal public static var current: BluetoothHost?

  /// The reason why the radio does not work, in one sentence; nil if no problem is known.
  public var problem: String? { driver.problem }

  /// The current problem, or nil, and each change. A slow consumer gets only the latest one.
  public func problems() -> AsyncStream<String?> { driver.problems() }

  /// The reason why the capture is no longer written; nil while it is, and without a capture.
  public var captureFailure: CaptureError? { driver.captureFailure }

  /// The file of bonds; nil without one.
  package var bondPath: String? { driver.bondPath }

  /// The reason why bonds, or the random address that belongs to them, are not kept for later runs;
  /// nil while they are, and without a file of bonds. What can't be written is tried again. Logged
  /// once for each kind of error, and when it is over.
  public var bondFailure: BondStoreError? { driver.bondFailure }

  /// How many bonds and removals of bonds wait to be written to the file.
  public var unwrittenBondCount: Int { driver.unwrittenBondCount }

  /// How many bonds of this host's pairings are not in the file. Once the host has closed, they are lost.
  package var unwrittenNewBondCount: Int { driver.unwrittenNewBondCount }

  /// The state, links, queues and counters of the host's machine at one moment.
  package func snapshot() async -> HostSnapshot {
    await withCheckedContinuation { continuation in
      driver.readSnapshot { continuation.resume(returning: $0) }
    }
  }

  /// Identifies the host among all running hosts.
  package var identity: ObjectIdentifier { ObjectIdentifier(driver) }

  /// Opens a client. `onEvent` is called on the host's event loop; first with the state.
  ///
  /// - Parameters:
  ///   - acknowledgesEvents: Whether the client calls ``HostClient/eventsHandled(_:)``. Flow
  ///     control then stops peers that cause more events than it handles. Otherwise an event counts
  ///     as handled when `onEvent` returns.
  ///   - settle: Only for hosts of a `VirtualRadio`: called after events were delivered and before
  ///     virtual time goes on; returns when the client has dealt with them. A client that passes
  ///     events to a queue waits for the queue here.
  ///   - onEvent: Called with each of the client's events.
  public func makeClient(
    acknowledgesEvents: Bool = false, settle: (@Sendable () -> Void)? = nil,
    onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> HostClient {
    HostClient(
      host: self,
      slot: driver.open(
        acknowledgesEvents: acknowledgesEvents, settle: settle, handler: .each(onEvent)))
  }

  /// Stops the host for good. Its clients get no more events, the connection to the controller is
  /// closed, and the capture file and the bond file are complete when this returns.
  public func close() async {
    await withCheckedContinuation { continuation in driver.stop { continuation.resume() } }
  }
}

extension BluetoothHost: HostSessionProvider {
  /// Whether the radio is simulated.
  public var isSimulated: Bool { if case .simulated = radio { true } else { false } }

  /// Opens a session in this process. The name has no use, because the host ends with the process.
  public func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    HostClient(
      host: self,
      slot: driver.open(
        acknowledgesEvents: acknowledgesEvents, settle: settle, handler: .batches(onEvents)))
  }

  /// Whether the time of the radio is virtual: it waits for clients before it advances.
  package var hasVirtualTime: Bool { driver.loop.isVirtual }

  /// Opens a session of another program, which answers and hears of the pairings that it causes. It acknowledges
  /// events. Its services have the handles that earlier sessions of the publisher had for the same ones.
  package func openSession(
    of program: ProgramID, publisher: PublisherID? = nil, settle: (@Sendable () -> Void)? = nil,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    HostClient(
      host: self,
      slot: driver.open(
        acknowledgesEvents: true, settle: settle, program: program, publisher: publisher,
        handler: .batches(onEvents)))
  }
}

/// A client of a host in this process. Closing or releasing it ends all of its requests, such as
/// scans and connections.
public final class HostClient: HostSession {
  /// The host of this client; it lives at least as long as its clients.
  public let host: BluetoothHost
  private let slot: ClientSlot

  init(host: BluetoothHost, slot: ClientSlot) {
    self.host = host
    self.slot = slot
  }

  deinit { close() }

  /// The identifier of the client within its host.
  public var id: ClientID { slot.id }

  /// The host's event loop.
  public var loop: any SessionLoop { host.driver.loop }

  /// Sends a request to the host, and returns at once. Replies are delivered as events. May be
  /// called from any thread.
  public func send(_ request: HostRequest) {
    host.driver.post(.request(slot.id, request))
  }

  /// Acknowledges that the client has handled this number of events, in the order of delivery. Only
  /// for clients that were created to acknowledge events. May be called from any thread.
  public func eventsHandled(_ count: Int) {
    host.driver.post(.eventsHandled(slot.id, count: count))
  }

  /// Notifies the host that the client has work that no event caused. A `VirtualRadio` then calls
  /// `settle`, and so waits for that work, before it advances the time.
  public func hasWork() { host.driver.hasWork(slot) }

  /// Ends the client. No event is delivered after this returns, except one that another thread is
  /// delivering just now.
  public func close() {
    if slot.close() { host.driver.post(.clientClosed(slot.id)) }
  }
}

/// How a client takes its events.
enum EventHandler: Sendable {
  case each(@Sendable (HostEvent) -> Void)
  /// Those of one turn of the loop together.
  case batches(@Sendable ([HostEvent]) -> Void)
}

/// The driver's state of a client.
package final class ClientSlot: Sendable {
  let id: ClientID
  let acknowledgesEvents: Bool
  /// The program of the client; nil for one in the host's own process.
  let program: ProgramID?
  /// The app and the manager that it is for, for the handles of its services; nil in the host's own process.
  let publisher: PublisherID?
  private let handler: EventHandler
  /// Returns when the client has handled the events that were delivered.
  package let settle: (@Sendable () -> Void)?
  private let isOpen = Atomic(true)

  init(
    id: ClientID, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?, program: ProgramID?,
    publisher: PublisherID?, handler: EventHandler
  ) {
    self.id = id
    self.acknowledgesEvents = acknowledgesEvents
    self.settle = settle
    self.program = program
    self.publisher = publisher
    self.handler = handler
  }

  /// Delivers events unless the client was closed.
  func deliver(_ events: [HostEvent]) {
    switch handler {
    case .each(let handle):
      for event in events where isOpen.load(ordering: .acquiring) { handle(event) }
    case .batches(let handle):
      if isOpen.load(ordering: .acquiring) { handle(events) }
    }
  }

  /// Closes the slot; returns true for the first call.
  func close() -> Bool { isOpen.exchange(false, ordering: .acquiringAndReleasing) }
}
