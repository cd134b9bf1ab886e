import DNSWire
import Essentials

// Messages as lines of text and back, so that tests in other languages can compare what DNSWire
// reads and writes with what they do.
//
//   dns-text decode    each line of hexadecimal digits becomes a block of lines, or "error …"
//   dns-text encode multicast|legacy|none    each block becomes a line of hexadecimal digits
//
// A block is a line "message ID FLAGS", a line "question NAME TYPE CLASS" or "answer|authority|
// additional NAME TYPE CLASS TTL DATA" for each piece, and an empty line. Names and data are in
// hexadecimal digits without compression, "-" if empty; numbers are decimal, classes with their top
// bit.

func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.isEmpty ? "-" : Hexadecimal.string(bytes)
}

func lines(of message: DNSMessage) -> [String] {
  var lines = ["message \(message.header.id) \(message.header.flags)"]
  for question in message.questions {
    let bit: UInt16 = question.wantsUnicastResponse ? 0x8000 : 0
    lines.append(
      "question \(hexadecimal(question.name.wireBytes)) \(question.type.rawValue) "
        + "\(question.questionClass.rawValue | bit)")
  }
  let lists = [
    ("answer", message.answers), ("authority", message.authorities),
    ("additional", message.additionals),
  ]
  for (list, records) in lists {
    for record in records {
      let bit: UInt16 = record.flushesCache ? 0x8000 : 0
      lines.append(
        "\(list) \(hexadecimal(record.name.wireBytes)) \(record.type.rawValue) "
          + "\(record.recordClass.rawValue | bit) \(record.ttlSeconds) "
          + hexadecimal(record.data.wireBytes))
    }
  }
  return lines
}

struct Malformed: Error {
  var line: String
}

func add(_ line: String, to message: inout DNSMessage) throws {
  let words = line.split(separator: " ").map(String.init)
  let numbers = words.map { UInt32($0) ?? 0 }
  let bytes = words.map { $0 == "-" ? [] : Hexadecimal.bytes($0) ?? [] }
  guard words.count >= 3, let kind = words.first else { throw Malformed(line: line) }
  if kind == "message" {
    message.header = DNSHeader(
      id: UInt16(truncatingIfNeeded: numbers[1]), flags: UInt16(truncatingIfNeeded: numbers[2]))
    return
  }
  guard words.count >= 4 else { throw Malformed(line: line) }
  let name = try DNSName(decoding: bytes[1])
  let type = DNSType(rawValue: UInt16(truncatingIfNeeded: numbers[2]))
  let number = UInt16(truncatingIfNeeded: numbers[3])
  let bit: UInt16 = type == .opt ? 0 : 0x8000
  if kind == "question" {
    message.questions.append(
      DNSQuestion(
        name: name, type: type, questionClass: DNSClass(rawValue: number & 0x7FFF),
        wantsUnicastResponse: number & 0x8000 != 0))
    return
  }
  guard words.count == 6 else { throw Malformed(line: line) }
  let record = DNSRecord(
    name: name, recordClass: DNSClass(rawValue: number & ~bit), flushesCache: number & bit != 0,
    ttlSeconds: numbers[4], data: DNSRecordData(type: type, decoding: bytes[5]))
  switch kind {
  case "answer": message.answers.append(record)
  case "authority": message.authorities.append(record)
  case "additional": message.additionals.append(record)
  default: throw Malformed(line: line)
  }
}

func decode() {
  while let line = readLine() {
    do {
      let message = try DNSMessage(decoding: (Hexadecimal.bytes(line) ?? [])[...])
      print(lines(of: message).joined(separator: "\n"))
    } catch {
      print("error \(error)")
    }
    print()
  }
}

func encode(_ compression: DNSMessageEncoder.Compression) throws {
  var message = DNSMessage(header: .query)
  while let line = readLine() {
    if line.isEmpty {
      print(Hexadecimal.string(try message.encoded(compression: compression)))
      message = DNSMessage(header: .query)
    } else {
      try add(line, to: &message)
    }
  }
}

switch CommandLine.arguments.dropFirst().joined(separator: " ") {
case "decode": decode()
case "encode multicast": try encode(.multicast)
case "encode legacy": try encode(.legacy)
case "encode none": try encode(.none)
default: print("usage: dns-text decode | encode multicast|legacy|none")
}
