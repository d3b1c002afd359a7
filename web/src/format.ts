// SPDX-License-Identifier: GPL-2.0-or-later
// Figures as nest writes them: three digits, SI units, one unit per figure, '-' for what is unknown.
import type { Field } from './api';

const UNKNOWN = '-';

// Three significant digits, no exponent.
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || size === 0)
    return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : size >= 0.01 ? 2 : 4);
}

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P'];

function scaled(value: number, unit: string): string {
  let scale = 0;
  while (Math.abs(value) >= 999.5 && scale < PREFIXES.length - 1) {
    value /= 1000;
    scale++;
  }
  const text = scale === 0 && Number.isInteger(value) ? String(value) : digits(value);
  return `${text} ${PREFIXES[scale]}${unit}`.trim();
}

export function bytes(value: number): string {
  return scaled(value, 'B');
}

export function count(value: number): string {
  if (Math.abs(value) < 10000)
    return Number.isInteger(value) ? String(value) : digits(value);
  return scaled(value, '').replace(' ', '');
}

// In full, for a number of rows.
export function whole(value: number): string {
  return value.toLocaleString('en-US');
}

const DURATIONS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];

export function duration(ns: number): string {
  if (ns === 0)
    return '0 s';
  if (Math.abs(ns) >= 86400e9)
    return `${digits(ns / 86400e9)} d`;
  if (Math.abs(ns) >= 3600e9)
    return `${digits(ns / 3600e9)} h`;
  if (Math.abs(ns) >= 120e9)
    return `${digits(ns / 60e9)} min`;
  for (const [size, unit] of DURATIONS)
    if (Math.abs(ns) >= size || size === 1)
      return `${digits(ns / size)} ${unit}`;
  return UNKNOWN;
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value === 0 || Math.abs(value) >= 10 ? value.toFixed(0) : value.toFixed(1)} %`;
}

const two = (value: number) => String(value).padStart(2, '0');

// Times are those of the browser, or of the host that wrote a file: seconds east of UTC.
let zone: number | null = null;

export function setZone(seconds: number | null): void {
  zone = seconds;
}

// A date whose UTC parts are those to show.
function shownDate(ns: number): Date {
  const date = new Date(ns / 1e6);
  return new Date(ns / 1e6 + (zone !== null ? zone * 1000 : -date.getTimezoneOffset() * 60000));
}

export function timeOfDay(ns: number, withDigits = 0): string {
  const date = shownDate(ns);
  const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  return withDigits ? `${text}.${String(Math.floor((ns / 1e6) % 1000)).padStart(3, '0')}` : text;
}

export function dateTime(ns: number): string {
  const date = shownDate(ns);
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ${timeOfDay(ns)}`;
}

// A value with a unit of measures: 'B/s', '/s', 'ns', 'B', '%' or '1' (of a share), ''.
export function withUnit(value: number | null | undefined, unit: string | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value))
    return UNKNOWN;
  switch (unit) {
  case 'B/s': case 'bit/s':
    return scaled(value, unit);
  case 'B': case 'bytes':
    return bytes(value);
  case 'ns':
    return duration(value);
  case '%': case '1':
    return percent(value);
  case '/s':
    return `${count(value)}/s`;
  default:
    return unit ? `${count(value)} ${unit}` : count(value);
  }
}

function list(value: unknown[]): string {
  return value.map((item) => (typeof item === 'object' && item ? JSON.stringify(item) : String(item))).join(', ');
}

// The value of a field, as nest shows it in its tables.
export function fieldValue(value: unknown, field: Field): string {
  if (value === null || value === undefined)
    return UNKNOWN;
  if (Array.isArray(value))
    return value.length ? list(value) : UNKNOWN;
  if (typeof value === 'object')
    return JSON.stringify(value);
  if (typeof value === 'boolean')
    return value ? 'yes' : 'no';
  if (typeof value !== 'number')
    return String(value);
  switch (field.kind) {
  case 'count':
    return withUnit(value, field.unit);
  case 'bytes':
    return withUnit(value, field.unit ?? 'B');
  case 'duration':
    return duration(value);
  case 'time':
    return timeOfDay(value, 3);
  case 'ratio':
    return field.unit ? withUnit(value, field.unit) : value.toFixed(2);
  case 'hex':
    return `0x${value.toString(16)}`;
  default:
    return Number.isInteger(value) ? String(value) : value.toFixed(2);
  }
}

const NUMBERS = new Set(['count', 'bytes', 'duration', 'ratio', 'time', 'id']);

export function isNumber(field: Field): boolean {
  return NUMBERS.has(field.kind);
}

// The field as people read it: without the unit in its name.
export function heading(name: string): string {
  return name.replace(/_(ns|bytes)$/, '').replace(/_/g, ' ');
}

// A value as the expression language takes it.
export function literal(value: unknown, field: Field): string {
  if (typeof value === 'string' && field.kind !== 'addr' && field.kind !== 'address' && field.kind !== 'enum'
      && field.kind !== 'endpoint' && field.kind !== 'hex')
    return `"${value.replace(/[\\"]/g, '\\$&')}"`;
  if (typeof value === 'number' && field.kind === 'duration')
    return `${value}ns`;
  return String(value);
}

export function andWhere(where: string, term: string): string {
  const text = where.trim();
  if (!text)
    return term;
  return / or /.test(text) ? `(${text}) and ${term}` : `${text} and ${term}`;
}

// A shell word.
export function shell(text: string): string {
  return /^[\w./:=@,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
