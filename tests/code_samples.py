"""A small program in every language with a grammar: no statement spans lines but by its blocks."""

from __future__ import annotations

SAMPLES: dict[str, str] = {
    "a.py": """\
import os
class Pan:
    size = 3
    def sift(self, sand):
        if sand:
            for grain in sand:
                yield f"{grain!r} of {len(sand)}"
        else:
            return None
""",
    "a.c": """\
#include <stdio.h>
#define SIZE 3
static int sift(int sand) {
    if (sand > SIZE) {
        printf("%d\\n", sand);
        return 1;
    }
    return 0;
}
""",
    "a.cpp": """\
#include <vector>
namespace pan {
template <typename T> class Pan {
  public:
    T sift(std::vector<T> sand) {
        auto text = R"(one " two)";
        return sand[0];
    }
};
}
""",
    "a.java": """\
package pan;
import java.util.List;
class Pan {
    int sift(List<String> sand) {
        for (String grain : sand) {
            System.out.println("grain " + grain);
        }
        return 0;
    }
}
""",
    "a.js": """\
import { sand } from './sand';
export function sift(pan) {
    const found = sand.filter((grain) => /gold/.test(grain));
    if (found.length) {
        return `found ${found.length} in ${pan}`;
    }
    return null;
}
""",
    "a.ts": """\
import { Sand } from './sand';
export class Pan<T extends Sand> {
    private size: number = 3;
    sift(sand: T[]): string | null {
        return sand.length ? `${sand[0]}` : null;
    }
}
""",
    "a.tsx": """\
import { Sand } from './sand';
export const Pan = (props: Sand) => {
    const size = 3;
    return <div className="pan">{props.grains.map((grain) => <b>{grain}</b>)}</div>;
};
""",
    "a.go": """\
package pan
import "fmt"
func Sift(sand []string) int {
	for _, grain := range sand {
		fmt.Println("grain", grain)
	}
	return 0
}
""",
    "a.rs": """\
use std::fmt;
struct Pan<'a> {
    sand: &'a str,
}
impl<'a> Pan<'a> {
    fn sift(&self) -> Option<char> {
        println!("{} in {}", self.sand, 'c');
        self.sand.chars().next()
    }
}
""",
    "a.cs": """\
using System;
namespace Pans
{
    class Pan
    {
        public int Sift(string[] sand)
        {
            Console.WriteLine($"found {sand.Length}");
            return 0;
        }
    }
}
""",
    "a.rb": """\
require 'sand'
class Pan
  def sift(sand)
    sand.each do |grain|
      puts "grain #{grain}" if grain =~ /gold/
    end
    :done
  end
end
""",
    "a.php": """\
<?php
namespace Pan;
class Pan
{
    public function sift(array $sand)
    {
        foreach ($sand as $grain) {
            echo "grain $grain";
        }
        return 0;
    }
}
""",
    "a.kt": """\
package pan
import sand.Grain
class Pan(val size: Int) {
    fun sift(sand: List<Grain>): String? {
        for (grain in sand) {
            println("grain $grain of ${sand.size}")
        }
        return null
    }
}
""",
    "a.scala": """\
package pan
import sand.Grain
class Pan(size: Int) {
  def sift(sand: List[Grain]): Option[String] = {
    val first = sand.headOption
    first.map(grain => s"grain $grain")
  }
}
""",
    "a.swift": """\
import Foundation
class Pan {
    let size = 3
    func sift(sand: [String]) -> Int? {
        for grain in sand {
            print("grain \\(grain)")
        }
        return nil
    }
}
""",
    "a.sh": """\
#!/bin/bash
set -e
sift() {
    for grain in "$@"; do
        echo "grain $grain"
    done
}
sift one two
""",
    "a.lua": """\
local sand = require("sand")
local function sift(pan)
    for _, grain in ipairs(sand) do
        print("grain", grain)
    end
    return 0
end
return sift
""",
    "a.jl": """\
module Pans
using Sand
function sift(sand)
    for grain in sand
        println("grain $grain")
    end
    return 0
end
end
""",
}
