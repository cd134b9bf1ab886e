import Testing

@testable import EventLoop

@Suite("Current values", .timeLimit(.minutes(5)))
struct CurrentValueTests {
  @Test("an observer gets the current value, and then each change once")
  func changes() async {
    let current = CurrentValue<String?>("off")
    var values = current.values().makeAsyncIterator()
    #expect(await values.next() == "off")
    #expect(!current.set("off"))
    #expect(current.set(nil))
    #expect(await values.next() == .some(nil))
    #expect(current.value == nil)
  }

  @Test("a slow observer gets the latest value only, and others theirs")
  func slow() async {
    let current = CurrentValue(0)
    var slow = current.values().makeAsyncIterator()
    var quick = current.values().makeAsyncIterator()
    for value in 1...3 {
      current.set(value)
      #expect(await quick.next() == value)
    }
    #expect(await slow.next() == 3)
  }

  @Test("the end is the end for observers of before and after, who get the last value")
  func end() async {
    let current = CurrentValue(1)
    var values = current.values().makeAsyncIterator()
    #expect(await values.next() == 1)
    current.set(2)
    current.finish()
    #expect(await values.next() == 2)
    #expect(await values.next() == nil)
    var late = current.values().makeAsyncIterator()
    #expect(await late.next() == 2)
    #expect(await late.next() == nil)
  }

  @Test("an observer that has gone is not kept, and one of a value that is gone ends")
  func gone() async {
    var current: CurrentValue<Int>? = CurrentValue(1)
    let observing = Task { [values = current!.values()] in
      for await _ in values {}
    }
    observing.cancel()
    await observing.value
    var values = current!.values().makeAsyncIterator()
    #expect(await values.next() == 1)
    current?.set(2)
    #expect(await values.next() == 2)
    current = nil
    #expect(await values.next() == nil)
  }
}
