extension PeripheralFile {
  /// An order in which the services can be published.
  public enum PublicationOrder: Hashable, Sendable {
    /// The indices of all services, each after those that it includes.
    case order([Int])
    /// There is no order, because this service includes itself, directly or indirectly.
    case circle(Int)
  }

  /// The order of the file, except that included services come before those that include them.
  public func publicationOrder() -> PublicationOrder {
    var order: [Int] = []
    var isDone = [Bool](repeating: false, count: services.count)
    var isOpen = isDone
    for first in services.indices where !isDone[first] {
      // Depth first, without recursion: open services are on the path to the last one.
      var path = [first]
      isOpen[first] = true
      while let index = path.last {
        if let next = services[index].includedServices.first(where: { !isDone[$0] }) {
          if isOpen[next] { return .circle(next) }
          isOpen[next] = true
          path.append(next)
        } else {
          isDone[index] = true
          order.append(index)
          path.removeLast()
        }
      }
    }
    return .order(order)
  }
}
