import Testing

@testable import AmbitCLI

@Suite("Values on their way to the screen")
struct ArrivedValuesTests {
  private let rate = KeptDevice.Key(service: 0, characteristic: 0)
  private let level = KeptDevice.Key(service: 1, characteristic: 0)

  @Test("the last value of each characteristic is shown, with the number of values received")
  func lastValue() {
    let arrived = ArrivedValues()
    #expect(arrived.keep([1], of: rate))
    #expect(!arrived.keep([2], of: rate))
    #expect(!arrived.keep([87], of: level))
    #expect(arrived.take() == [rate: .init(value: [2], count: 2), level: .init(value: [87])])
    #expect(arrived.take().isEmpty)
    #expect(arrived.keep([3], of: rate))
  }

  @Test("late values of a device that was closed hold back none of the next device's")
  func late() {
    let (closed, opened) = (ArrivedValues(), ArrivedValues())
    #expect(closed.keep([1], of: rate))
    // The closed device's values are not taken; the next device's first value is shown.
    #expect(opened.keep([2], of: rate))
    #expect(opened.take() == [rate: .init(value: [2])])
  }
}
