import AsyncAlgorithms
import OpenCombine
import Reactive

func flattenWorkloads() -> [Workload] {
  [merging(), concatenating(), switching()].map { workload in
    var workload = workload
    workload.add(.floor) { count in
      let transform = opaque { (value: Int) in { (sink: (Int) -> Void) in sink(value) } }
      let sink: (Int) -> Void = { sum.add($0) }
      for value in 0..<count { transform(value)(sink) }
    }
    return workload
  }
}

private func workload(_ name: String, _ strategy: FlattenStrategy) -> Workload {
  var workload = Workload("flatMap of singles, \(name)", events: 100_000)
  workload.add(.ours) { count in
    SignalProducer<Int, Never>(0..<count)
      .flatMap(strategy) { SignalProducer<Int, Never>(value: $0) }
      .startWithValues { sum.add($0) }
  }
  return workload
}

private func merging() -> Workload {
  var workload = workload("merge", .merge)
  workload.add(.openCombine) { count in
    (0..<count).publisher.eraseToAnyPublisher()
      .flatMap { Just($0) }.sink { sum.add($0) }.cancel()
  }
  return workload
}

private func concatenating() -> Workload {
  var workload = workload("concat", .concat)
  workload.add(.openCombine) { count in
    (0..<count).publisher.eraseToAnyPublisher()
      .flatMap(maxPublishers: .max(1)) { Just($0) }.sink { sum.add($0) }.cancel()
  }
  workload.add(.async) { count in
    for await value in (0..<count).async.flatMap({ CollectionOfOne($0).async }) { sum.add(value) }
  }
  return workload
}

private func switching() -> Workload {
  var workload = workload("latest", .latest)
  workload.add(.openCombine) { count in
    (0..<count).publisher.eraseToAnyPublisher()
      .map { Just($0) }.switchToLatest().sink { sum.add($0) }.cancel()
  }
  return workload
}
