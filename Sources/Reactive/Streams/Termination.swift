/// How a stream ended.
public enum Termination<Error: Swift.Error> {
  /// With an error.
  case failed(Error)
  /// Having delivered everything.
  case completed
  /// From outside, before its work was done.
  case interrupted
}

extension Termination: Equatable where Error: Equatable {}
extension Termination: Sendable {}
