import BeaconMachines
import Foundation

/// A floor plan with the way of a beacon, as SVG.
enum FloorPicture {
  /// Pixels for a metre.
  private static let scale = 40.0
  /// Pixels around the floor.
  private static let margin = 40.0

  static func svg(_ plan: FloorPlan, fixes: [PositionFix]) -> String {
    let (low, high) = plan.bounds
    func x(_ value: Double) -> String { number((value - low.x) * scale + margin) }
    // Metres grow upwards, pixels downwards.
    func y(_ value: Double) -> String { number((high.y - value) * scale + margin) }
    let width = number((high.x - low.x) * scale + 2 * margin)
    let height = number((high.y - low.y) * scale + 2 * margin)
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" "
        + "font-family=\"sans-serif\" font-size=\"12\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
    ]
    for room in plan.rooms {
      let points = room.corners.map { "\(x($0.x)),\(y($0.y))" }.joined(separator: " ")
      lines.append("<polygon points=\"\(points)\" fill=\"#f2f2f2\" stroke=\"#888\"/>")
      if let corner = room.corners.first {
        lines.append(text(room.name, x(corner.x), y(corner.y)))
      }
    }
    for receiver in plan.receivers {
      let (px, py) = (x(receiver.position.x), y(receiver.position.y))
      lines.append("<circle cx=\"\(px)\" cy=\"\(py)\" r=\"5\" fill=\"#06c\"/>")
      lines.append(text(receiver.id, px, py))
    }
    let way = fixes.map { "\(x($0.position.x)),\(y($0.position.y))" }.joined(separator: " ")
    lines.append("<polyline points=\"\(way)\" fill=\"none\" stroke=\"#c60\" stroke-width=\"2\"/>")
    if let fix = fixes.last {
      let (px, py) = (x(fix.position.x), y(fix.position.y))
      lines.append(
        "<circle cx=\"\(px)\" cy=\"\(py)\" r=\"\(number(fix.radius * scale))\" fill=\"#c60\" "
          + "fill-opacity=\"0.2\"/>")
      lines.append("<circle cx=\"\(px)\" cy=\"\(py)\" r=\"4\" fill=\"#c60\"/>")
    }
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

  private static func text(_ text: String, _ x: String, _ y: String) -> String {
    let safe = Fit.safe(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return "<text x=\"\(x)\" y=\"\(y)\" dx=\"7\" dy=\"-4\">\(safe)</text>"
  }
}
