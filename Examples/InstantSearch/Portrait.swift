/// Portraits of invented people: a face derived from the handle.
enum Portrait {
  static func svg(of author: Author) -> String {
    var number = author.handle.utf8.reduce(UInt32(2_166_136_261)) {
      ($0 ^ UInt32($1)) &* 16_777_619
    }
    func next(_ bound: UInt32) -> UInt32 {
      number ^= number << 13
      number ^= number >> 17
      number ^= number << 5
      return number % bound
    }
    let hue = next(360)
    let skin = ["#f3d3b8", "#e0ac84", "#b97c52", "#8a5635", "#7d4e33"][Int(next(5))]
    let hair = ["#2b2320", "#5b3a22", "#a86c32", "#d9b36c", "#8d8f98"][Int(next(5))]
    let hairs = [
      // Short, long, curly, bald with a beard.
      #"<path d="M26 44a22 24 0 0 1 44 0c-4-10-12-14-22-14s-18 4-22 14z"/>"#,
      #"<path d="M24 70V44a24 26 0 0 1 48 0v26c-6-6-8-22-10-30-10 2-20 2-28-2-2 14-4 26-10 32z"/>"#,
      (0..<7).map {
        #"<circle cx="\#(26 + $0 * 7)" cy="\#(30 - [0, 5, 8, 9, 8, 5, 0][$0])" r="8"/>"#
      }
      .joined(),
      #"<path d="M28 52c2 20 10 26 20 26s18-6 20-26c-4 8-10 10-20 10s-16-2-20-10z"/>"#,
    ]
    let glasses =
      #"<g fill="none" stroke="rgb(34 34 34)" stroke-width="2"><circle cx="39" cy="48" r="7"/>"#
      + #"<circle cx="57" cy="48" r="7"/><path d="M46 48h4"/></g>"#
    return #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96">"#
      + #"<rect width="96" height="96" fill="hsl(\#(hue) 55% 62%)"/>"#
      + #"<path d="M12 96c2-18 16-24 36-24s34 6 36 24z" fill="hsl(\#((hue + 180) % 360) 40% 36%)"/>"#
      + #"<path d="M41 64h14v14a7 6 0 0 1-14 0z" fill="\#(skin)"/>"#
      + #"<ellipse cx="48" cy="48" rx="21" ry="25" fill="\#(skin)"/>"#
      + #"<g fill="\#(hair)">\#(hairs[Int(next(4))])</g>"#
      + #"<g fill="rgb(34 34 34)"><circle cx="39" cy="48" r="2.4"/><circle cx="57" cy="48" r="2.4"/></g>"#
      + (next(3) == 0 ? glasses : "")
      + #"<path d="M40 61q8 \#(4 + next(5)) 16 0" fill="none" stroke="rgb(122 46 46)" stroke-width="2.4" "#
      + #"stroke-linecap="round"/></svg>"#
  }
}
