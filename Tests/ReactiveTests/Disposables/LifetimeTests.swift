import Reactive
import Testing

@Suite("Lifetime")
struct LifetimeTests {
  @Test("a lifetime ends when its token is released")
  func tokenReleased() {
    let ends = Counter()
    var (lifetime, token): (Lifetime, Lifetime.Token?) = Lifetime.make()
    lifetime.observeEnded { ends.increment() }
    #expect(!lifetime.hasEnded && ends.value == 0)
    withExtendedLifetime(token) {}
    token = nil
    #expect(lifetime.hasEnded && ends.value == 1)
    lifetime = .empty
  }

  @Test("a lifetime ends once when its token is disposed of and then released")
  func tokenDisposed() {
    let ends = Counter()
    func scope() {
      let token = Lifetime.Token()
      let lifetime = Lifetime(token)
      lifetime.observeEnded { ends.increment() }
      token.dispose()
      #expect(lifetime.hasEnded)
    }
    scope()
    #expect(ends.value == 1)
  }

  @Test("an empty lifetime has ended: observers run at once")
  func empty() {
    let ends = Counter()
    #expect(Lifetime.empty.hasEnded)
    #expect(Lifetime.empty.observeEnded { ends.increment() } == nil)
    let disposable = AnyDisposable()
    // swift-format-ignore: NoAssignmentInExpressions
    let removal = Lifetime.empty += disposable
    #expect(removal == nil)
    #expect(ends.value == 1 && disposable.isDisposed)
  }

  @Test("an observation can be taken back")
  func takingBack() {
    let (lifetime, token) = Lifetime.make()
    let ends = Counter()
    lifetime.observeEnded { ends.increment() }?.dispose()
    let kept = AnyDisposable()
    let removed = AnyDisposable()
    lifetime += kept
    // swift-format-ignore: NoAssignmentInExpressions
    let removal = lifetime += removed
    removal?.dispose()
    token.dispose()
    #expect(ends.value == 0 && kept.isDisposed && !removed.isDisposed)
  }

  @Test("a lifetime does not keep its token")
  func doesNotKeepToken() {
    var (lifetime, token): (Lifetime, Lifetime.Token?) = Lifetime.make()
    weak let released = token
    token = nil
    #expect(released == nil)
    #expect(lifetime.hasEnded)
    lifetime = .empty
  }
}
