#if Messaging
  /// A point in time as XMPP writes it (XEP-0082): milliseconds since 1970 in UTC.
  package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    /// Reads `CCYY-MM-DDThh:mm:ss[.sss]TZD`; nil if the text is something else or no date.
    package init?(_ text: String) {
      var rest = Array(text.utf8)[...]
      func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
      func number(_ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
      }
      func take(_ byte: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: byte) else { return false }
        rest = rest.dropFirst()
        return true
      }
      guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
        take("T"), let hour = number(2), take(":"), let minute = number(2), take(":"),
        let second = number(2), (1...12).contains(month), (1...31).contains(day), hour < 24,
        minute < 60, second <= 60
      else { return nil }
      var milliseconds =
        ((Self.days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1_000
      if take(".") {
        let digits = rest.prefix(while: isDigit)
        guard !digits.isEmpty else { return nil }
        var scale: Int64 = 100
        for digit in digits.prefix(3) {
          milliseconds += Int64(digit - UInt8(ascii: "0")) * scale
          scale /= 10
        }
        rest = rest.dropFirst(digits.count)
      }
      if !take("Z") {
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(2), take(":"), let minutes = number(2),
          hours < 24, minutes < 60
        else { return nil }
        milliseconds -= (isEast ? 1 : -1) * (hours * 60 + minutes) * 60_000
      }
      guard rest.isEmpty else { return nil }
      self.milliseconds = milliseconds
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar, by years that begin in March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
      let shifted = month <= 2 ? year - 1 : year
      let era = (shifted >= 0 ? shifted : shifted - 399) / 400
      let yearOfEra = shifted - era * 400
      let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
      return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
  }

  extension Timestamp: CustomStringConvertible {
    package var description: String {
      func floor(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : (a - b + 1) / b }
      let day = floor(milliseconds, 86_400_000)
      let time = milliseconds - day * 86_400_000
      let shifted = day + 719_468
      let era = floor(shifted, 146_097)
      let dayOfEra = shifted - era * 146_097
      let yearOfEra =
        (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
      let shiftedMonth = (5 * dayOfYear + 2) / 153
      let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
      let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
      func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
      }
      return digits(year, 4) + "-" + digits(month, 2) + "-"
        + digits(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, 2) + "T"
        + digits(time / 3_600_000, 2) + ":" + digits(time / 60_000 % 60, 2) + ":"
        + digits(time / 1_000 % 60, 2) + "." + digits(time % 1_000, 3) + "Z"
    }
  }
#endif
