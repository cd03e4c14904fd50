'use strict';
// Finds the addon: STET_ADDON, else the package of this platform.

const GLIBC = '2.36';

/** Why this system has no addon, or undefined if it should have one. */
function unsupported() {
  const platform = `${process.platform}-${process.arch}`;
  const needs = `stet needs Linux on x64 or arm64 with glibc ${GLIBC} or later`;
  if (!['linux-x64', 'linux-arm64'].includes(platform)) return `${needs}; this is ${platform}.`;
  const glibc = process.report?.getReport()?.header?.glibcVersionRuntime;
  if (!glibc) return `${needs}; this system has another libc, such as musl.`;
  const [major, minor] = glibc.split('.').map(Number);
  const old = major < 2 || (major === 2 && minor < Number(GLIBC.split('.')[1]));
  return old ? `${needs}; this system has glibc ${glibc}.` : undefined;
}

function load() {
  const name = `@stet/${process.platform}-${process.arch}`;
  const own = process.env.STET_ADDON;
  const file = own || `${name}/stet.node`;
  try {
    return require(file);
  } catch (cause) {
    const why = own ? undefined : unsupported();
    if (why) throw new Error(why, { cause });
    if (own || cause.code !== 'MODULE_NOT_FOUND') throw new Error(`stet cannot load ${file}: ${cause.message}`, { cause });
    throw new Error(`The package ${name} is not installed: npm install stet, without --omit=optional.`, { cause });
  }
}

module.exports = load();
