import Reactive
import Testing

// Listings of FailuresAndRecovery.md and ThreadsAndLifetimes.md.

@MainActor private final class Label {
  var text = ""

  func show(_ texts: Signal<String, Never>, during lifetime: Lifetime) {
    texts.observeValues(on: UIScheduler()) { self.text = $0 }
    BindingTarget(on: UIScheduler(), lifetime: lifetime) { self.text = $0 } <~ texts
  }
}

@Suite("Listings about threads and recovery")
struct RaceListings {
  private struct Refusal: Error {}

  @MainActor @Test("values of a signal reach objects of the main actor")
  func mainActor() {
    let (texts, input) = Signal<String, Never>.pipe()
    let (lifetime, token) = Lifetime.make()
    let label = Label()
    label.show(texts, during: lifetime)
    input.send(value: "a")
    #expect(label.text == "a")
    token.dispose()
  }

  @Test("a run that succeeds is not repeated")
  func backoff() {
    let request = SignalProducer<Int, Refusal>(value: 1)
    let patient =
      request.retry(
        upTo: 5, backoff: Backoff(initial: 1, maximum: 30, jitter: 0.5), on: QueueScheduler.main,
        using: SystemRandomNumberGenerator())
    #expect((try? patient.single()?.get()) == 1)
  }
}
