import BeaconMachines
import BluetoothHost
import Foundation

/// A floor plan with the ways of beacons, as SVG.
struct FloorPicture {
  /// Pixels for a metre.
  private static let scale = 40.0
  /// Pixels around the floor.
  private static let margin = 40.0

  private let plan: FloorPlan
  private let low: FloorPoint
  private let high: FloorPoint
  private let width: Double
  private let height: Double

  private init(_ plan: FloorPlan) {
    self.plan = plan
    (low, high) = plan.bounds
    width = (high.x - low.x) * Self.scale + 2 * Self.margin
    // Below the floor there is room for the scale.
    height = (high.y - low.y) * Self.scale + 3 * Self.margin
  }

  /// Writes the picture to a file, for this user only, because it shows where people are. The file is replaced
  /// as a whole, so that a viewer never reads half of one.
  static func write(_ plan: FloorPlan, _ ways: [Way], to path: String) throws {
    try attempt(path) { () throws(CaptureError) in
      try CaptureFile.replace(path, with: Array(svg(plan, ways).utf8))
    }
  }

  /// Checks that a picture can be written, before there is one.
  static func checkWritable(_ path: String) throws {
    try attempt(path) { () throws(CaptureError) in try CaptureFile.checkReplaceable(path) }
  }

  private static func attempt(_ path: String, _ body: () throws(CaptureError) -> Void) throws {
    do throws(CaptureError) { try body() } catch {
      throw CommandFailure(.cannotCreate, "\(path) cannot be written: \(error.reason)")
    }
  }

  /// The way of one beacon.
  struct Way {
    /// The text beside its end; nil for none.
    var name: String?
    var fixes: [PositionFix]
  }

  /// The floor, the paths, and the last fixes with the circles that contain the beacons with a
  /// probability of 68 %.
  static func svg(_ plan: FloorPlan, _ ways: [Way]) -> String {
    let picture = FloorPicture(plan)
    let drawn = zip(ways.indices, ways).flatMap { index, way in
      picture.lines(way, colour: colours[index % colours.count])
    }
    let lines = picture.rooms + picture.walls + drawn + picture.receivers + picture.ruler
    let (width, height) = (number(picture.width), number(picture.height))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
      viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      \(lines.joined(separator: "\n"))
      </svg>

      """
  }

  private func x(_ value: Double) -> Double { (value - low.x) * Self.scale + Self.margin }

  /// Metres grow upwards, pixels downwards.
  private func y(_ value: Double) -> Double { (high.y - value) * Self.scale + Self.margin }

  private func pixels(_ point: FloorPoint) -> String {
    "\(Self.number(x(point.x))),\(Self.number(y(point.y)))"
  }

  private var rooms: [String] {
    plan.rooms.flatMap { room in
      let points = room.corners.map(pixels).joined(separator: " ")
      let count = Double(max(room.corners.count, 1))
      let middle = room.corners.reduce((x: 0, y: 0)) { ($0.x + $1.x / count, $0.y + $1.y / count) }
      return [
        "<polygon points=\"\(points)\" fill=\"#f2f2f2\" stroke=\"#bbb\"/>",
        text(room.name, x(middle.x), y(middle.y), colour: "#777", anchor: "middle"),
      ]
    }
  }

  private var walls: [String] {
    plan.walls.map { wall in
      "<polyline points=\"\(pixels(wall.start)) \(pixels(wall.end))\" stroke=\"#444\" stroke-width=\"3\"/>"
    }
  }

  private var receivers: [String] {
    plan.receivers.flatMap { receiver in
      let (px, py) = (x(receiver.position.x), y(receiver.position.y))
      // A name at the right edge is written to the left of its point.
      let isRight = px > width - 3 * Self.margin
      return [
        Self.circle(px, py, 5, "fill=\"#06c\""),
        text(receiver.id, px + (isRight ? -8 : 8), py - 5, anchor: isRight ? "end" : "start"),
      ]
    }
  }

  /// Distinct for eyes that see red and green alike as well (Okabe and Ito), the first being the
  /// colour of a single way.
  private static let colours = ["#c60", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]

  private func lines(_ way: Way, colour: String) -> [String] {
    let points = way.fixes.map { pixels($0.position) }.joined(separator: " ")
    var lines = [
      "<polyline points=\"\(points)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\" "
        + "stroke-linejoin=\"round\" stroke-opacity=\"0.6\"/>"
    ]
    if let fix = way.fixes.last {
      let (px, py) = (x(fix.position.x), y(fix.position.y))
      lines.append(
        Self.circle(px, py, fix.radius * Self.scale, "fill=\"\(colour)\" fill-opacity=\"0.2\""))
      lines.append(Self.circle(px, py, 5, "fill=\"\(colour)\" stroke=\"white\""))
      if let name = way.name { lines.append(text(name, px + 8, py + 14, colour: colour)) }
    }
    return lines
  }

  /// How long five metres are.
  private var ruler: [String] {
    let top = height - Self.margin
    let end = Self.margin + 5 * Self.scale
    return [
      "<path d=\"M\(Self.number(Self.margin)) \(Self.number(top)) H\(Self.number(end))\" "
        + "stroke=\"#333\" stroke-width=\"2\"/>",
      text("5 m", end + 6, top + 4),
    ]
  }

  private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

  private static func circle(_ x: Double, _ y: Double, _ radius: Double, _ style: String) -> String
  {
    "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"\(number(radius))\" \(style)/>"
  }

  private func text(
    _ text: String, _ x: Double, _ y: Double, colour: String = "#000", anchor: String = "start"
  ) -> String {
    let safe = Fit.safe(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return
      "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" fill=\"\(colour)\" stroke=\"white\" "
      + "stroke-width=\"3\" paint-order=\"stroke\" text-anchor=\"\(anchor)\">\(safe)</text>"
  }
}
