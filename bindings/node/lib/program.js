/** Where the program is, and what to say when it is nowhere. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where an administrator puts it. Never along PATH: what stands there first may be the work of an earlier command. */
export const PLACES = ['/usr/local/bin/confine', '/usr/bin/confine', '/opt/confine/bin/confine'];

/** The npm package that has it for this machine; an optional dependency of this one. */
export const PACKAGE = `confine-${process.platform}-${process.arch}`;

/** Below this package and beside it, where package managers put a dependency. Node would look in every directory above as well, and
 * in NODE_PATH: those may be anybody's. */
const BESIDE = [`../node_modules/${PACKAGE}`, `../../${PACKAGE}`].map((place) => fileURLToPath(new URL(place, import.meta.url)));

function isThere(path, mode) {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function missing() {
  const { version, optionalDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)));
  const way = optionalDependencies[PACKAGE]
    ? `and the package ${PACKAGE} is not installed, which has it: npm install ${PACKAGE}@${version} (npm leaves it out with --omit=optional)`
    : `and there is no package of it for ${process.platform} on ${process.arch}`;
  return Object.assign(new Error(`the program confine is in none of the usual places (${PLACES.join(', ')}), ${way}; or name it with \`program\``), { code: 'ENOENT' });
}

/** `program` as it was given; else what an administrator has installed, because that alone can have what a machine grants by path
 * (AppArmor); else the one of npm. */
export function findProgram(program) {
  if (program !== undefined) return program;
  const place = PLACES.find((one) => isThere(one, constants.X_OK));
  if (place) return place;
  for (const directory of BESIDE) {
    if (!isThere(`${directory}/package.json`, constants.F_OK)) continue;
    const packaged = `${directory}/bin/confine`;
    if (isThere(packaged, constants.X_OK)) return packaged;
    throw Object.assign(new Error(`the package ${PACKAGE} in ${directory} is not whole: ${packaged} cannot be executed; install it again`), { code: 'ENOENT' });
  }
  throw missing();
}
