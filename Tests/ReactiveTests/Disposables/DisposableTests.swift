import Reactive
import Testing

@Suite("AnyDisposable", .ownThread)
struct AnyDisposableTests {
  @Test("a disposable without an action only remembers that it was disposed")
  func simple() {
    let disposable = AnyDisposable()
    #expect(!disposable.isDisposed)
    disposable.dispose()
    #expect(disposable.isDisposed)
  }

  @Test("a disposable runs its action once, and is disposed while the action runs")
  func actionRunsOnce() {
    let observed = Log<Bool>()
    let serial = SerialDisposable()
    let disposable = AnyDisposable { observed.append(serial.inner?.isDisposed == true) }
    serial.inner = disposable
    disposable.dispose()
    disposable.dispose()
    #expect(observed.entries == [true])
    #expect(disposable.isDisposed)
  }

  @Test("a disposable runs its action once when many threads dispose of it")
  func actionRunsOnceUnderARace() {
    let runs = Counter()
    for _ in 0..<2_000 {
      let disposable = AnyDisposable { runs.increment() }
      race({ disposable.dispose() }, { disposable.dispose() })
    }
    #expect(runs.value == 2_000)
  }

  @Test("a disposable releases what its action captured once it has run")
  func actionIsReleased() {
    var object: Counter? = Counter()
    weak let released = object
    let disposable = AnyDisposable { [object] in object?.increment() }
    object = nil
    #expect(released != nil)
    disposable.dispose()
    #expect(released == nil)
  }

  @Test("a disposable that wraps another shares its state")
  func standsForAnother() {
    let inner = AnyDisposable()
    let outer = AnyDisposable(inner)
    #expect(!outer.isDisposed)
    outer.dispose()
    #expect(inner.isDisposed && outer.isDisposed)
  }
}

@Suite("CompositeDisposable", .ownThread)
struct CompositeDisposableTests {
  @Test("members that are removed in any order are not disposed of, the others are, in their order")
  func removalInAnyOrder() {
    let log = Log<Int>()
    let composite = CompositeDisposable()
    var handles = (0..<1_000).map { number in
      (number, composite.add(AnyDisposable { log.append(number) }))
    }
    let seed = Int.random(in: 0...1_000_000)
    var generator = ProgramTests.Generator(seed: seed)
    for _ in 0..<900 {
      let index = Int.random(in: handles.indices, using: &generator)
      handles.remove(at: index).1?.dispose()
    }
    composite.dispose()
    #expect(log.entries == handles.map(\.0), "seed \(seed)")
  }

  @Test("a composite disposes of its members in the order of their addition")
  func order() {
    let log = Log<Int>()
    let composite = CompositeDisposable()
    for number in 0..<10 { composite.add { log.append(number) } }
    composite.dispose()
    #expect(log.entries == Array(0..<10))
    #expect(composite.isDisposed)
  }

  @Test("a composite is made of disposables, leaving out nil")
  func initialisers() {
    let members = [AnyDisposable(), AnyDisposable()]
    CompositeDisposable(members as [any Disposable]).dispose()
    #expect(members.allSatisfy { $0.isDisposed })
    let optional = AnyDisposable()
    CompositeDisposable([nil, optional] as [(any Disposable)?]).dispose()
    #expect(optional.isDisposed)
  }

  @Test("a composite disposes at once of members added after its disposal, and returns nil")
  func additionAfterDisposal() {
    let composite = CompositeDisposable()
    composite.dispose()
    let late = AnyDisposable()
    let removal = composite.add(late)
    #expect(removal == nil)
    #expect(late.isDisposed)
    let runs = Counter()
    #expect(composite.add { runs.increment() } == nil)
    #expect(runs.value == 1)
  }

  @Test("a composite ignores nil and disposables that have been disposed")
  func nothingToAdd() {
    let composite = CompositeDisposable()
    let disposed = AnyDisposable()
    disposed.dispose()
    #expect(composite.add(nil as (any Disposable)?) == nil)
    #expect(composite.add(disposed) == nil)
  }

  @Test("a composite removes a member without disposing of it")
  func removal() {
    let composite = CompositeDisposable()
    let member = AnyDisposable()
    let removal = composite.add(member)
    #expect(removal != nil)
    removal?.dispose()
    composite.dispose()
    #expect(!member.isDisposed)
  }

  @Test("a composite releases a member that was removed")
  func removalReleases() {
    let composite = CompositeDisposable()
    var member: AnyDisposable? = AnyDisposable()
    weak let released = member
    let removal = composite.add(member)
    member = nil
    #expect(released != nil)
    removal?.dispose()
    #expect(released == nil)
  }

  @Test("a member may add and remove members while it is disposed of")
  func reentrancy() {
    let composite = CompositeDisposable()
    let late = AnyDisposable()
    composite.add { composite.add(late) }
    composite.dispose()
    #expect(late.isDisposed)
  }

  @Test("nothing is lost when an addition races the disposal")
  func additionRacesDisposal() {
    let disposals = Counter()
    for _ in 0..<5_000 {
      let composite = CompositeDisposable()
      race({ composite.add { disposals.increment() } }, { composite.dispose() })
    }
    #expect(disposals.value == 5_000)
  }
}

@Suite("SerialDisposable", .ownThread)
struct SerialDisposableTests {
  @Test("a serial disposable disposes of replaced content, and of the content at the end")
  func replacement() {
    let first = AnyDisposable()
    let second = AnyDisposable()
    let serial = SerialDisposable(first)
    #expect(serial.inner === first)
    serial.inner = second
    #expect(first.isDisposed && !second.isDisposed)
    serial.dispose()
    #expect(second.isDisposed && serial.isDisposed)
  }

  @Test("a serial disposable disposes of content that is set after its disposal")
  func settingAfterDisposal() {
    let serial = SerialDisposable()
    serial.dispose()
    let late = AnyDisposable()
    serial.inner = late
    #expect(late.isDisposed)
  }

  @Test("nothing is lost when setting races the disposal")
  func settingRacesDisposal() {
    let disposals = Counter()
    for _ in 0..<5_000 {
      let serial = SerialDisposable()
      race(
        { serial.inner = AnyDisposable { disposals.increment() } },
        { serial.inner = AnyDisposable { disposals.increment() } },
        { serial.dispose() })
    }
    #expect(disposals.value == 10_000)
  }
}

@Suite("ScopedDisposable")
struct ScopedDisposableTests {
  @Test("a scoped disposable disposes of its content when it is released")
  func release() {
    let content = AnyDisposable()
    func scope() {
      let scoped = ScopedDisposable(content)
      #expect(!scoped.isDisposed)
    }
    scope()
    #expect(content.isDisposed)
  }

  @Test("a scoped disposable of a composite accepts members")
  func composite() {
    let runs = Counter()
    let scoped = ScopedDisposable(CompositeDisposable())
    let member = AnyDisposable()
    scoped += member
    scoped += { runs.increment() }
    scoped.dispose()
    #expect(member.isDisposed && runs.value == 1 && scoped.isDisposed)
  }

  @Test("a scoped disposable of a serial disposable exchanges its inner content")
  func serial() {
    let scoped = ScopedDisposable(SerialDisposable())
    let first: any Disposable = AnyDisposable()
    scoped.inner = first
    let content: (any Disposable)? = scoped.inner
    #expect(content === first)
    scoped.inner = nil
    #expect(first.isDisposed)
  }

  @Test("a scoped disposable can be made of any disposable")
  func anyDisposable() {
    let content: any Disposable = SerialDisposable()
    ScopedDisposable<AnyDisposable>(content).dispose()
    #expect(content.isDisposed)
  }
}
