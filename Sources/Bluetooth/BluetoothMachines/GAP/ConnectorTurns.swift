import GATTMachines

/// Whose peers a controller looks for while more are wanted than its filter accept list holds.
///
/// Each requester has its share of the list, so that one with a thousand absent peers doesn't delay another's link.
/// The peers of a requester take turns, in the order in which they were requested. With more requesters than the
/// list has entries, these take turns, too.
struct ConnectorTurns: Sendable {
  /// What a turn has of each requester, in the order of their first peers.
  fileprivate struct Lane {
    var requester: Requester
    /// The indices of its peers.
    var peers: [Int] = []
    var start = 0
    var takenCount = 0
  }

  /// Where the peers of a requester begin in this turn.
  private var starts: [Requester: Int] = [:]
  private var firstLane = 0

  /// The indices of the peers whose turn it is.
  ///
  /// - Parameters:
  ///   - count: The maximum number of them.
  ///   - requesters: Those of each peer.
  func batch(_ count: Int, of requesters: [[Requester]]) -> [Int] {
    choose(count, of: requesters).peers
  }

  /// The turn is over.
  mutating func advance(_ count: Int, of requesters: [[Requester]]) {
    let lanes = choose(count, of: requesters).lanes
    starts = [:]
    for lane in lanes {
      starts[lane.requester] = (lane.start + lane.takenCount) % lane.peers.count
    }
    if lanes.count > count { firstLane = (firstLane + count) % lanes.count }
  }

  private func choose(
    _ count: Int, of requesters: [[Requester]]
  ) -> (peers: [Int], lanes: [Lane]) {
    var lanes = lanes(of: requesters)
    var peers: [Int] = []
    var isChosen = [Bool](repeating: false, count: requesters.count)
    var isComplete = false
    while peers.count < count, !isComplete {
      isComplete = true
      for offset in lanes.indices where peers.count < count {
        let index = (firstLane + offset) % lanes.count
        guard let peer = lanes[index].next(isChosen) else { continue }
        isChosen[peer] = true
        peers.append(peer)
        isComplete = false
      }
    }
    return (peers, lanes)
  }

  private func lanes(of requesters: [[Requester]]) -> [Lane] {
    var lanes: [Lane] = []
    var indices: [Requester: Int] = [:]
    for (peer, wanting) in requesters.enumerated() {
      for requester in wanting {
        let index = indices[requester] ?? lanes.count
        if index == lanes.count {
          indices[requester] = index
          lanes.append(Lane(requester: requester))
        }
        lanes[index].peers.append(peer)
      }
    }
    for index in lanes.indices {
      lanes[index].start = (starts[lanes[index].requester] ?? 0) % lanes[index].peers.count
    }
    return lanes
  }
}

extension ConnectorTurns.Lane {
  /// Takes the next peer that isn't chosen for another requester; nil after the last one.
  fileprivate mutating func next(_ isChosen: [Bool]) -> Int? {
    while takenCount < peers.count {
      let peer = peers[(start + takenCount) % peers.count]
      takenCount += 1
      if !isChosen[peer] { return peer }
    }
    return nil
  }
}
