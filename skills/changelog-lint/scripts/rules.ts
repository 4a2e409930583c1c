// The rules for a changelog, checked line by line.

import { compareVersions, parseVersion, type Version } from './version';

export interface Problem {
  line: number;
  message: string;
}

enum Section {
  Added = 'Added',
  Changed = 'Changed',
  Deprecated = 'Deprecated',
  Removed = 'Removed',
  Fixed = 'Fixed',
  Security = 'Security',
}

const SECTIONS: readonly string[] = Object.values(Section);
const UNRELEASED = 'unreleased';

/** A release while its lines go by. */
class Release {
  readonly sections = new Set<string>();

  constructor(
    readonly line: number,
    readonly name: string,
  ) {}

  get unreleased(): boolean {
    return this.name.toLowerCase() === UNRELEASED;
  }
}

export class Changelog {
  readonly problems: Problem[] = [];
  private readonly releases: Release[] = [];
  private readonly links = new Set<string>();
  private titles = 0;
  private newest?: { version: Version; date?: string };
  private section?: { line: number; name: string; entries: number };

  constructor(private readonly wantsLinks: boolean) {}

  check(text: string): Problem[] {
    let fenced = false;
    const lines = text.split(/\r?\n/);
    for (const [index, line] of lines.entries()) {
      if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
      else if (!fenced) this.read(index + 1, line);
    }
    this.endSection();
    if (this.titles === 0) this.report(1, 'there is no title such as `# Changelog`');
    if (this.releases.length === 0) this.report(1, 'there is no release');
    if (this.wantsLinks) this.checkLinks();
    return this.problems.sort((a, b) => a.line - b.line);
  }

  private read(line: number, text: string): void {
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(text);
    const link = /^\[([^\]]+)\]:\s*\S/.exec(text);
    if (link) this.links.add(link[1]!.toLowerCase());
    else if (heading) this.readHeading(line, heading[1]!.length, heading[2]!);
    else if (this.section && /^\s*([-*+]|\d+[.)])\s+\S/.test(text)) this.section.entries += 1;
  }

  private readHeading(line: number, level: number, title: string): void {
    this.endSection();
    if (level === 1) {
      this.titles += 1;
      if (this.titles > 1) this.report(line, 'there is a second title');
    } else if (level === 2) this.readRelease(line, title);
    else if (level === 3) this.readSection(line, title);
  }

  private readRelease(line: number, title: string): void {
    const found = /^\[?([^\]\s]+)\]?(?:\s+-\s+(\S+))?(?:\s+\[YANKED\])?$/.exec(title);
    const release = new Release(line, found?.[1] ?? title);
    const known = this.releases.some((other) => other.name === release.name);
    this.releases.push(release);
    if (known) return this.report(line, `\`${release.name}\` is there twice`);
    if (release.unreleased) {
      if (this.releases.length > 1) this.report(line, '`Unreleased` is not the first release');
      return;
    }
    const version = parseVersion(release.name);
    if (!found || !version) return this.report(line, `\`${title}\` is not a version such as \`[1.2.0] - 2024-02-29\``);
    const date = this.readDate(line, release.name, found[2]);
    if (this.newest && compareVersions(version, this.newest.version) > 0) {
      this.report(line, `\`${version.text}\` is newer than \`${this.newest.version.text}\` above it`);
    }
    if (date && this.newest?.date && date > this.newest.date) {
      this.report(line, `the date ${date} is later than ${this.newest.date} above it`);
    }
    this.newest = { version, date: date ?? this.newest?.date };
  }

  private readDate(line: number, name: string, text?: string): string | undefined {
    if (text === undefined) {
      this.report(line, `\`${name}\` has no date`);
      return undefined;
    }
    const date = new Date(`${text}T00:00:00Z`);
    const exists = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
    if (!exists) this.report(line, `\`${text}\` is not a date such as 2024-02-29`);
    return exists ? text : undefined;
  }

  private readSection(line: number, name: string): void {
    const release = this.releases.at(-1);
    if (!release) return this.report(line, `\`${name}\` belongs to no release`);
    if (!SECTIONS.includes(name)) this.report(line, `\`${name}\` is none of ${SECTIONS.join(', ')}`);
    if (release.sections.has(name)) this.report(line, `\`${name}\` is there twice in \`${release.name}\``);
    release.sections.add(name);
    this.section = { line, name, entries: 0 };
  }

  private endSection(): void {
    if (this.section?.entries === 0) this.report(this.section.line, `\`${this.section.name}\` is empty`);
    this.section = undefined;
  }

  private checkLinks(): void {
    for (const { line, name } of this.releases) {
      if (!this.links.has(name.toLowerCase())) this.report(line, `\`${name}\` has no link definition`);
    }
  }

  private report(line: number, message: string): void {
    this.problems.push({ line, message });
  }
}
