#if BindingServer
  import Testing

  /// Expects that a condition holds once another task or process has done its part. Pauses between two looks, so that
  /// the processors are free for that; the limit ends only what hangs.
  func expectSoon(
    _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: @MainActor () -> Bool
  ) async {
    let end = ContinuousClock().now + .seconds(60)
    var holds = await condition()
    while !holds, ContinuousClock().now < end {
      try? await Task.sleep(for: .milliseconds(5))
      holds = await condition()
    }
    #expect(holds, what, sourceLocation: sourceLocation)
  }
#endif
