import Testing

@Suite("Random programs of apps and hubs")
struct RandomProgramTests {
  @Test("random clients of random hubs miss no completion, and no end of a link or channel")
  func programs() {
    var completionCount = 0
    var connectionCount = 0
    var lossCount = 0
    var keptCount = 0
    for seed: UInt64 in 1...200 {
      var program = RandomProgram(seed: seed)
      program.run(steps: 400)
      #expect(program.problems.isEmpty, "seed \(seed): \(program.problems)")
      completionCount += program.completionCount
      connectionCount += program.connectionCount
      lossCount += program.lossCount
      keptCount += program.keptCount
    }
    // The programs reach these states at all.
    #expect(completionCount > 5_000 && connectionCount > 500 && lossCount > 500)
    #expect(keptCount > 50)
  }
}
