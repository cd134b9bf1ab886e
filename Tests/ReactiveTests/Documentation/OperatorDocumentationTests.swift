import Testing

@Suite("The documentation of the operators")
struct OperatorDocumentationTests {
  private static let folders = [
    "Booleans", "Operators", "Producers", "Properties", "SideEffects", "Time",
  ]

  @Test(
    "the documentation of an operator describes every parameter and the result", arguments: folders)
  func complete(_ folder: String) throws {
    let functions = try Function.all(inFolder: folder)
    #expect(!functions.isEmpty)
    for function in functions {
      #expect(function.undocumented.isEmpty, "\(function.owner): \(function.signature)")
    }
  }

  @Test("the search for undocumented parameters finds them")
  func looking() {
    let text = """
      extension Thing where T: U {
      /// Does.
      ///
      /// - Parameter a: One.
      @inlinable
      public func f<T>(_ a: T, by b: @escaping (T, Int) -> Bool = g()) -> Int {
        0
      }
      }
      """
    let functions = Function.all(in: text)
    #expect(functions.map(\.undocumented) == [["b", "what it returns"]])
    #expect(functions.map(\.owner) == ["Thing"])
    #expect(functions.map(\.name) == ["f(_:by:)"])
  }
}
