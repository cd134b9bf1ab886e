import Binding
import Reactive
import Synchronization
import Testing

@Suite("Actions of view models on the main actor")
struct MainActorActionTests {
  @MainActor
  private final class Counter {
    var inputs: [Int] = []
  }

  @Test @MainActor
  func `An action that a page starts is done at once`() {
    let counter = Counter()
    let action = Action<Int, Never, Never>(onMainActor: { counter.inputs.append($0) })
    action.apply(1).start()
    action.apply(2).start()
    #expect(counter.inputs == [1, 2] && !action.isExecuting.value)
  }

  @Test
  func `An action that another thread starts is done on the main actor, and completes then`() async
  {
    let counter = Counter()
    let action = Action<Int, Never, Never>(onMainActor: { counter.inputs.append($0) })
    await Task { @concurrent in
      await withCheckedContinuation { continuation in
        action.apply(3).startWithCompleted { continuation.resume() }
      }
    }.value
    #expect(await counter.inputs == [3])
  }

  @Test @MainActor
  func `An action that is disabled does nothing`() {
    let counter = Counter()
    let isEnabled = MutableProperty(false)
    let action = Action<Void, Never, Never>(
      enabledIf: isEnabled, onMainActor: { counter.inputs.append(0) })
    action.apply().start()
    isEnabled.value = true
    action.apply().start()
    #expect(counter.inputs == [0])
  }
}
