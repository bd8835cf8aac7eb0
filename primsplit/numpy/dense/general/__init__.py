"""Eigenvalues and eigenvectors of square matrices that need not be symmetric, one matrix at a time.

A matrix is balanced (`balancing`), reduced to Hessenberg form (`hessenberg`) and iterated to real Schur form
(`francis`), whose blocks on the diagonal tell the eigenvalues (`blocks`); vectors are substituted back (`vectors`).
The steps are those of LAPACK's geev, since they decide in which order eigenvalues are found, and NumPy's users see that
order. E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999: gebal, gehrd, lahqr, lanv2, trevc.
"""
