import AmbitCLI
import Essentials
import HubClient
import HubClientMachines
import HubWire
import Reactive

/// Reads the state of the hub whose radio the page's program uses, while a page shows it.
@MainActor
final class HubWatch {
  typealias Results = AsyncStream<Result<HubWire.HubStatus, HubFailure>>

  /// The state of the hub, as far as it is known.
  struct State: Sendable {
    /// The last answer; nil before the first one.
    var status: HubWire.HubStatus?
    /// When that came.
    var answeredAt: Instant?
    /// The reason why there is no newer one, and when it was found; nil after an answer.
    var failure: (reason: HubFailure, time: Instant)?
  }

  /// Where the hub listens.
  let path: String
  let state: Property<State>

  private let mutableState = MutableProperty(State())
  private let results: @MainActor () -> Results
  private let now: @MainActor () -> Instant
  private var viewerCount = 0
  private var reading: Task<Void, Never>?

  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - now: The time.
  ///   - results: Begins to read the hub's state, until the stream is left.
  init(
    path: String, now: @escaping @MainActor () -> Instant,
    results: @escaping @MainActor () -> Results
  ) {
    self.path = path
    self.now = now
    self.results = results
    state = Property(capturing: mutableState)
  }

  /// A page shows the hub. The first one begins the reading.
  func begin() {
    viewerCount += 1
    guard viewerCount == 1 else { return }
    mutableState.value = State()
    let results = results()
    reading = Task { [weak self] in
      for await result in results { self?.take(result) }
    }
  }

  /// A page shows the hub no longer. The last one ends the reading.
  func end() {
    precondition(viewerCount > 0, "the page was not counted")
    viewerCount -= 1
    guard viewerCount == 0 else { return }
    reading?.cancel()
    reading = nil
  }

  private func take(_ result: Result<HubWire.HubStatus, HubFailure>) {
    // A result may come after the last page has left.
    guard viewerCount > 0 else { return }
    let now = now()
    switch result {
    case .success(let status): mutableState.value = State(status: status, answeredAt: now)
    case .failure(let reason): mutableState.modify { $0.failure = (reason, now) }
    }
  }
}
