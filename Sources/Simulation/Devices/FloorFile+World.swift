internal import BluetoothWire
internal import Essentials
public import PeripheralFiles

extension World {
  /// Adds the walls, people and beacons of a floor file. The file's receivers and the phones of
  /// people become `hostPlaces`, in the order of the file. People start to walk now.
  public func add(_ floor: FloorFile) {
    radio.walls += floor.walls.map {
      Wall(from: Position($0.from), to: Position($0.to), attenuationDB: $0.attenuation)
    }
    let people = floor.walkers.map { Walker(motion(of: $0), attenuationDB: $0.attenuation) }
    walkers += people
    for (person, described) in zip(people, floor.walkers) where described.hasPhone {
      hostPlaces.append(HostPlace(name: described.name, motion: person.hand))
    }
    for receiver in floor.receivers {
      hostPlaces.append(
        HostPlace(
          name: receiver.id, motion: .still(Position(receiver.place)),
          antennaGainDB: receiver.gain))
    }
    for beacon in floor.beacons {
      let motion: Motion =
        switch beacon.place {
        case .at(let place): .still(Position(place))
        case .carried(let walker): people[safe: walker]?.hand ?? .still(.origin)
        }
      let identity = beacon.advertisement
      addBeacon(
        uuid: identity.uuid, major: identity.major, minor: identity.minor,
        measuredPower: identity.powerAtOneMetre, errorDB: beacon.error, every: beacon.interval,
        moving: motion)
    }
  }

  private func motion(of walker: FloorFile.Walker) -> Motion {
    var waypoints: [Motion.Waypoint] = []
    var time = now
    // A walker that repeats the path returns to its start.
    let stops = walker.repeats ? walker.path + walker.path.prefix(1) : walker.path
    for (index, stop) in stops.enumerated() {
      let position = Position(stop.place)
      if let last = waypoints.last {
        time = time + .nanoseconds(Int64(last.position.distance(to: position) / walker.speed * 1e9))
      }
      waypoints.append(Motion.Waypoint(time: time, position: position))
      let isReturn = walker.repeats && index == walker.path.count
      if stop.stay > .zero, !isReturn {
        time = time + stop.stay
        waypoints.append(Motion.Waypoint(time: time, position: position))
      }
    }
    guard waypoints.count > 1 else { return .still(waypoints.first?.position ?? .origin) }
    return walker.repeats ? .loop(waypoints) : .path(waypoints)
  }
}

extension Position {
  init(_ point: FloorFile.Point) { self.init(x: point.x, y: point.y, z: point.z) }
}
