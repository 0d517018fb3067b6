/// The form of a device's state in Redis, in Lua.
///
///     <highest counter: 4><count of pairs: 1><pairs: 2 each><buckets: 16 each><check: 4>
///
/// The ring has 1024 bits, of which bit `n % 1024` says whether counter `n` was accepted, for the
/// 1024 counters that end with the highest (RFC 4303 section 3.4.3). Apps use their counters one
/// after another, so nearly all bits are set: only those of its 128 bytes that are not 255 are
/// kept, each after its place. Where they are 64 or more, the count is 255 and the whole ring
/// follows. With up to 25 pairs Redis spends less than 250 bytes on a device, with its name and
/// its end.
///
/// The check is the first 32 bits of the SHA-1 of what is before it, against damage and not against
/// those who can compute it. Earlier builds wrote it as eight digits behind a whole ring without a
/// count. Their state is read with everything that it says, and written in the present form. They
/// take the present form for damage, and refuse the request that finds it.
enum CounterState {
    static let functions = """
        local used = string.rep(string.char(255), 128)
        local function check(body)
          return struct.pack('>I4', tonumber(string.sub(redis.sha1hex(body), 1, 8), 16))
        end
        -- The highest counter, the ring, the buckets and the ring's form; nil if it is damaged.
        local function decoded(state)
          local body = string.sub(state, 1, -5)
          if #body >= 5 and check(body) == string.sub(state, -4) then
            local highest, count = struct.unpack('>I4', body), string.byte(body, 5)
            local last = count == 255 and 133 or 5 + 2 * count
            local form, buckets = string.sub(body, 5, last), string.sub(body, last + 1)
            if count == 255 then return highest, string.sub(form, 2), buckets, form end
            if count == 0 then return highest, used, buckets, form end
            local bytes = {string.byte(used, 1, 128)}
            for at = 2, 2 * count, 2 do
              local place, value = string.byte(form, at, at + 1)
              bytes[place + 1] = value
            end
            return highest, string.char(unpack(bytes)), buckets, form
          end
          local earlier = string.sub(state, 1, -9)
          if #earlier >= 132
              and string.sub(redis.sha1hex(earlier), 1, 8) == string.sub(state, -8) then
            local highest = struct.unpack('>I4', earlier)
            return highest, string.sub(earlier, 5, 132), string.sub(earlier, 133)
          end
        end
        local function formed(ring)
          if ring == used then return string.char(0) end
          local gaps = string.gsub(ring, '\\255', '')
          if #gaps >= 64 then return string.char(255) .. ring end
          local parts, at = {string.char(#gaps)}, 0
          for index = 1, #gaps do
            at = string.find(ring, '[^\\255]', at + 1)
            parts[index + 1] = string.char(at - 1, string.byte(ring, at))
          end
          return table.concat(parts)
        end
        local function encoded(highest, form, buckets)
          local body = struct.pack('>I4', highest) .. form .. buckets
          return body .. check(body)
        end

        """
}
