import Foundation
import Testing

@testable import CoverFlow

@Suite("Layout of a cover flow")
struct LayoutTests {
  static let layouts = [
    CoverFlowLayout(width: 1280, height: 484),
    CoverFlowLayout(width: 390, height: 520, coverAspect: 1.25),
    CoverFlowLayout(width: 2560, height: 900, sideCovers: 8),
  ]

  @Test("slopes of place, depth and angle jump nowhere", arguments: layouts)
  func slopes(_ layout: CoverFlowLayout) {
    let step = 1e-4
    func slopes(at distance: Double) -> [Double] {
      let a = layout.placement(distance: distance)
      let b = layout.placement(distance: distance + step)
      return [(b.x - a.x) / step, (b.z - a.z) / step, (b.angleDegrees - a.angleDegrees) / step]
    }
    // Continuous: over a ten thousandth of a cover a slope changes by a ten thousandth of its range.
    var distance = -3.0
    while distance < 3 {
      for (before, after) in zip(slopes(at: distance - step), slopes(at: distance)) {
        #expect(abs(after - before) < 0.5, "at \(distance): from \(before) to \(after)")
      }
      distance += step * 7
    }
    for border in [-1.0, 0, 1] {
      for (before, after) in zip(slopes(at: border - step), slopes(at: border)) {
        #expect(abs(after - before) < 0.5, "at \(border): from \(before) to \(after)")
      }
    }
  }

  @Test("two covers that change places in the order don't overlap", arguments: layouts)
  func overlap(_ layout: CoverFlowLayout) {
    for offset in [0.5, 0.499, 0.501] {
      let left = layout.projection(of: layout.placement(distance: -offset))
      let right = layout.projection(of: layout.placement(distance: 1 - offset))
      #expect(left.right.x - right.left.x <= 2)
    }
  }

  @Test("covers are in order from left to right, and both sides are alike", arguments: layouts)
  func order(_ layout: CoverFlowLayout) {
    var last = -Double.infinity
    for step in -200...200 {
      let distance = Double(step) / 20
      let here = layout.placement(distance: distance)
      let there = layout.placement(distance: -distance)
      #expect(here.x > last)
      #expect(abs(here.x + there.x) < 1e-9 && abs(here.angleDegrees + there.angleDegrees) < 1e-9)
      #expect(here.z == there.z && here.z <= 0)
      last = here.x
    }
    #expect(layout.placement(distance: 0) == CoverPlacement(x: 0, z: 0, angleDegrees: 0))
    // Covers at the left look to the right.
    #expect(layout.placement(distance: -4).angleDegrees == 70)
  }

  @Test("the outermost covers that have elements are beyond the edge of the stage")
  func beyondTheEdge() {
    for width in stride(from: 200.0, through: 4000, by: 40) {
      for side in [8, 9, 10] {
        let layout = CoverFlowLayout(width: width, height: width / 2, sideCovers: side)
        // A cover that gets its element is further than half a cover from the last distance.
        #expect(!layout.isVisible(distance: Double(side) + 0.51))
        let last = layout.projection(of: layout.placement(distance: Double(side) - 0.5))
        #expect(last.right.x > width / 2 - 1, "\(width) points, \(side) covers")
      }
    }
  }

  @Test("a cover at the front has whole and even sizes, so that it is sharp", arguments: layouts)
  func sharp(_ layout: CoverFlowLayout) {
    for size in [layout.coverWidth, layout.coverHeight] {
      #expect(size.truncatingRemainder(dividingBy: 2) == 0)
    }
  }

  @Test("the layout fits common page sizes")
  func sizes() {
    #expect(Self.layouts[0].coverWidth == 300)
    #expect(Self.layouts[1].coverWidth == 248 && Self.layouts[1].coverHeight == 310)
    #expect(Self.layouts[0].coversPerPage == 8 && Self.layouts[1].coversPerPage == 2)
  }

  @Test(
    "invalid sizes give a layout all the same",
    arguments: [Double.nan, .infinity, -.infinity, -5, 0, 1e300, 1e-300])
  func hostileSizes(_ size: Double) {
    for layout in [
      CoverFlowLayout(width: size, height: 400), CoverFlowLayout(width: 400, height: size),
      CoverFlowLayout(width: 400, height: 400, coverAspect: size),
      CoverFlowLayout(width: size, height: size, coverAspect: size, sideCovers: -1),
    ] {
      #expect(layout.coverWidth >= 96 && layout.coverWidth <= 420)
      #expect(layout.coverHeight >= 40 && layout.coverHeight <= 840)
      #expect(layout.spacing > 0 && layout.spacing.isFinite && layout.pointsPerCover > 0)
      #expect(layout.placement(distance: 3).x.isFinite)
    }
  }

  @Test("sine and cosine are those of the C library")
  func turns() {
    for degrees in stride(from: -180.0, through: 180, by: 0.37) {
      let (sine, cosine) = Turn.sineAndCosine(degrees: degrees)
      #expect(abs(sine - sin(degrees * .pi / 180)) < 1e-14)
      #expect(abs(cosine - cos(degrees * .pi / 180)) < 1e-14)
    }
  }

  @Test("the edges of a cover are where a camera with a pinhole sees them")
  func camera() {
    let layout = Self.layouts[0]
    let placement = layout.placement(distance: -0.7)
    let seen = layout.projection(of: placement)
    let turn = placement.angleDegrees * .pi / 180
    for (offset, edge) in [(-150.0, seen.left), (150, seen.right)] {
      let x = placement.x + offset * cos(turn)
      let z = placement.z - offset * sin(turn)
      #expect(abs(edge.x - x * 900 / (900 - z)) < 1e-9)
      #expect(abs(edge.halfHeight - 150 * 900 / (900 - z)) < 1e-9)
    }
  }
}
