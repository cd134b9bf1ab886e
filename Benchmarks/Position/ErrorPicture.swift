import BeaconMachines
import Foundation

/// The share of windows whose error is below a number of metres, as curves.
enum ErrorPicture {
  private static let (width, height, left, top) = (640.0, 360.0, 50.0, 20.0)
  /// In metres, where the picture ends.
  private static let errorMax = 10.0
  private static let colours = ["#999", "#c90", "#06c", "#c30"]

  static func svg(_ curves: [(String, PositionScore)]) -> String {
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 430\" "
        + "font-family=\"sans-serif\" font-size=\"13\">",
      "<rect width=\"720\" height=\"430\" fill=\"white\"/>",
    ]
    for metres in stride(from: 0.0, through: errorMax, by: 2) {
      lines.append(line(point(metres, 0), point(metres, 1)))
      lines.append(text("\(Int(metres)) m", x(metres) - 8, top + height + 18))
    }
    for share in stride(from: 0.0, through: 1, by: 0.25) {
      lines.append(line(point(0, share), point(errorMax, share)))
      lines.append(text("\(Int(share * 100)) %", 4, y(share) + 4))
    }
    for (index, (name, score)) in curves.enumerated() {
      let colour = colours[index % colours.count]
      let points = stride(from: 0.0, through: 100, by: 1)
        .map { ($0, score.percentile($0)) }.filter { $0.1 <= errorMax }
        .map { point($0.1, $0.0 / 100) }.joined(separator: " ")
      lines.append(
        "<polyline points=\"\(points)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\"/>")
      let title = String(format: "%@: median %.2f m", name, score.median)
      lines.append(text(title, 460, top + 230 + 20 * Double(index), colour))
    }
    lines.append(text("Share of windows whose error is below", left, top + height + 40))
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private static func x(_ metres: Double) -> Double { left + metres / errorMax * width }
  private static func y(_ share: Double) -> Double { top + (1 - share) * height }

  private static func point(_ metres: Double, _ share: Double) -> String {
    String(format: "%.1f,%.1f", x(metres), y(share))
  }

  private static func line(_ from: String, _ to: String) -> String {
    "<polyline points=\"\(from) \(to)\" stroke=\"#ddd\"/>"
  }

  private static func text(
    _ text: String, _ x: Double, _ y: Double, _ colour: String = "#333"
  ) -> String {
    String(format: "<text x=\"%.1f\" y=\"%.1f\" fill=\"%@\">", x, y, colour) + text + "</text>"
  }
}
