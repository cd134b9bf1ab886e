import Reactive
import Testing

@Suite("Bag")
struct BagTests {
  @Test("a bag keeps the order of insertion")
  func order() {
    var bag = Bag<String>()
    for word in ["one", "two", "three"] { bag.insert(word) }
    #expect(Array(bag) == ["one", "two", "three"])
    #expect(bag[1] == "two")
    #expect(bag.count == 3)
    var iterator = bag.makeIterator()
    #expect(iterator.next() == "one")
  }

  @Test("a bag removes by token, and keeps the rest in order")
  func removal() {
    var bag = Bag(["zero"])
    let tokens = (1...5).map { bag.insert(String($0)) }
    #expect(bag.remove(using: tokens[2]) == "3")
    #expect(bag.remove(using: tokens[0]) == "1")
    #expect(Array(bag) == ["zero", "2", "4", "5"])
    #expect(bag.remove(using: tokens[2]) == nil)
    bag.insert("6")
    #expect(Array(bag) == ["zero", "2", "4", "5", "6"])
  }

  @Test("taking out of an empty bag, or with a token of the past, finds nothing")
  func emptyBag() {
    var bag = Bag<Int>()
    let token = bag.insert(1)
    #expect(bag.remove(using: token) == 1)
    #expect(bag.remove(using: token) == nil)
    #expect(bag.isEmpty)
    var other = Bag<Int>()
    #expect(other.remove(using: token) == nil)
  }
}
