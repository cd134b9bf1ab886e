/// The end of a stream.
public enum Termination<Error: Swift.Error> {
  /// With an error.
  case failed(Error)
  /// After everything was delivered.
  case completed
  /// Before its work was done, such as by disposal.
  case interrupted
}

extension Termination: Equatable where Error: Equatable {}
extension Termination: Sendable {}
