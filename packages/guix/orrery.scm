;;; SPDX-License-Identifier: BSD-3-Clause
;;; Guix's definition: builds the repository that this file lies in.
;;;   guix build -f packages/guix/orrery.scm      guix shell -f packages/guix/orrery.scm
(use-modules (guix packages) (guix gexp) (guix git-download) (guix utils)
             (guix build-system gnu) ((guix licenses) #:prefix license:)
             (gnu packages autotools) (gnu packages mpi) (gnu packages pkg-config) (gnu packages c)
             (gnu packages python))

(define %checkout (dirname (dirname (current-source-directory))))

(package
  (name "orrery")
  (version "0.1.0")
  (source (local-file %checkout "orrery-checkout"
                      #:recursive? #t
                      #:select? (git-predicate %checkout)))
  (build-system gnu-build-system)
  (arguments
   (list #:configure-flags #~(list "--without-openblas" "--without-lpsolve")
         #:tests? #f                    ;minutes, and mpirun; run make check in the sources
         #:phases
         #~(modify-phases %standard-phases
             (replace 'bootstrap
               (lambda _ (invoke "sh" "./bootstrap"))))))
  (native-inputs (list autoconf automake libtool pkg-config python))
  (inputs (list openmpi))
  (propagated-inputs (list `(,hwloc-2 "lib") hwloc-2 uthash))
  (home-page "")
  (synopsis "Task runtime for clusters of heterogeneous nodes")
  (description "Orrery runs programs that consist of tasks: it finds their dependencies from the data that they use,
chooses the processing unit of each, and moves data between memories and between MPI ranks.  It offers the StarPU
programming interface.")
  (license license:bsd-3))
